CREATE TABLE processed_events (
  consumer_name text NOT NULL,
  event_id uuid NOT NULL,
  processed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (consumer_name, event_id)
);
CREATE TABLE consumer_positions (
  consumer_name text NOT NULL,
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  last_sequence bigint NOT NULL,
  PRIMARY KEY (consumer_name, aggregate_type, aggregate_id)
);
CREATE TABLE consumer_parked (
  consumer_name text NOT NULL,
  event_id uuid NOT NULL,
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_sequence bigint NOT NULL,
  envelope jsonb NOT NULL,
  reason text NOT NULL CHECK (reason IN
    ('newer_version', 'gap', 'failing', 'quarantined', 'behind_parked', 'sequence_conflict')),
  attempt_count integer NOT NULL DEFAULT 0,
  retry_at timestamptz,
  last_error text,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (consumer_name, event_id)
);
CREATE INDEX consumer_parked_order
  ON consumer_parked (consumer_name, aggregate_type, aggregate_id, aggregate_sequence);
CREATE INDEX consumer_parked_due ON consumer_parked (consumer_name, retry_at) WHERE retry_at IS NOT NULL;
