-- Instants are whole microseconds since 1970 (UTC), UUIDs their lower-case text, JSON its text.
CREATE TABLE outbox_meta (
  only_row INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
  lanes INTEGER NOT NULL CHECK (lanes BETWEEN 1 AND 1024),
  schema_version INTEGER NOT NULL
);
CREATE TABLE outbox_events (
  event_id TEXT PRIMARY KEY NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  aggregate_sequence INTEGER NOT NULL CHECK (aggregate_sequence > 0),
  event_type TEXT NOT NULL,
  schema_version INTEGER NOT NULL CHECK (schema_version > 0),
  payload TEXT NOT NULL,
  headers TEXT NOT NULL DEFAULT '{}',
  occurred_at INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000),
  UNIQUE (aggregate_type, aggregate_id, aggregate_sequence)
);
CREATE INDEX outbox_events_recorded ON outbox_events (recorded_at);
CREATE TABLE outbox_pending (
  lane INTEGER NOT NULL,
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  available_at INTEGER,
  held INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX outbox_pending_reading ON outbox_pending (lane, position) WHERE NOT held;
CREATE TABLE outbox_sequences (
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  last_sequence INTEGER NOT NULL,
  PRIMARY KEY (aggregate_type, aggregate_id)
);
CREATE TABLE outbox_lanes (
  lane INTEGER PRIMARY KEY,
  claimed_by TEXT,
  claim_until INTEGER,
  fence INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE outbox_relays (
  relay_id TEXT PRIMARY KEY NOT NULL,
  heartbeat_until INTEGER NOT NULL,
  started_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000)
);
CREATE TABLE outbox_holds (
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT NOT NULL,
  lane INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  aggregate_sequence INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('retrying', 'scheduled', 'quarantined', 'releasing')),
  released_through INTEGER,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  retry_at INTEGER,
  last_error TEXT,
  since INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000),
  PRIMARY KEY (aggregate_type, aggregate_id)
);
CREATE INDEX outbox_holds_due ON outbox_holds (lane, retry_at);
CREATE TABLE outbox_repairs (
  event_id TEXT PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('replace', 'skip')),
  payload TEXT,
  schema_version INTEGER,
  who TEXT NOT NULL,
  why TEXT NOT NULL,
  at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000)
);
CREATE TABLE outbox_published (
  event_id TEXT PRIMARY KEY NOT NULL,
  published_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000),
  relay TEXT NOT NULL
);
CREATE VIEW outbox_status AS
SELECT e.event_id, e.aggregate_type, e.aggregate_id, e.aggregate_sequence, e.event_type, e.schema_version,
       e.occurred_at, e.recorded_at,
       CASE WHEN p.event_id IS NULL THEN 'published'
            WHEN h.event_id = e.event_id AND h.state = 'quarantined' THEN 'quarantined'
            WHEN h.event_id = e.event_id THEN 'retrying'
            WHEN p.held THEN 'waiting'
            ELSE 'pending' END AS state,
       CASE WHEN h.event_id = e.event_id THEN h.attempt_count ELSE 0 END AS attempts,
       CASE WHEN h.event_id = e.event_id THEN h.last_error END AS last_error,
       l.claimed_by AS relay
FROM outbox_events e
LEFT JOIN outbox_pending p ON p.event_id = e.event_id
LEFT JOIN outbox_holds h ON h.aggregate_type = e.aggregate_type AND h.aggregate_id = e.aggregate_id
LEFT JOIN outbox_lanes l ON l.lane = p.lane;
