-- Instants are whole microseconds since 1970 (UTC), UUIDs their lower-case text, JSON its text.
CREATE TABLE processed_events (
  consumer_name TEXT NOT NULL,
  event_id TEXT NOT NULL,
  processed_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000),
  PRIMARY KEY (consumer_name, event_id)
);
CREATE TABLE consumer_positions (
  consumer_name TEXT NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  last_sequence INTEGER NOT NULL,
  PRIMARY KEY (consumer_name, aggregate_type, aggregate_id)
);
CREATE TABLE consumer_parked (
  consumer_name TEXT NOT NULL,
  event_id TEXT NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  aggregate_sequence INTEGER NOT NULL,
  envelope TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN
    ('newer_version', 'gap', 'failing', 'quarantined', 'behind_parked', 'sequence_conflict')),
  attempt_count INTEGER NOT NULL DEFAULT 0,
  retry_at INTEGER,
  last_error TEXT,
  since INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000),
  PRIMARY KEY (consumer_name, event_id)
);
CREATE INDEX consumer_parked_order
  ON consumer_parked (consumer_name, aggregate_type, aggregate_id, aggregate_sequence);
CREATE INDEX consumer_parked_due ON consumer_parked (consumer_name, retry_at) WHERE retry_at IS NOT NULL;
