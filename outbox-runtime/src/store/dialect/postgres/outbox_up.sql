CREATE TABLE outbox_meta (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  lanes integer NOT NULL CHECK (lanes BETWEEN 1 AND 1024),
  schema_version integer NOT NULL
);
CREATE TABLE outbox_events (
  event_id uuid PRIMARY KEY,
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  aggregate_sequence bigint NOT NULL CHECK (aggregate_sequence > 0),
  event_type text NOT NULL,
  schema_version integer NOT NULL CHECK (schema_version > 0),
  payload jsonb NOT NULL,
  headers jsonb NOT NULL DEFAULT '{}',
  occurred_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (aggregate_type, aggregate_id, aggregate_sequence)
);
CREATE INDEX outbox_events_recorded ON outbox_events (recorded_at);
CREATE TABLE outbox_pending (
  lane smallint NOT NULL,
  position bigint GENERATED ALWAYS AS IDENTITY,
  event_id uuid PRIMARY KEY,
  available_at timestamptz,
  held boolean NOT NULL DEFAULT false
);
CREATE INDEX outbox_pending_reading ON outbox_pending (lane, position) WHERE NOT held;
CREATE TABLE outbox_sequences (
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  last_sequence bigint NOT NULL,
  PRIMARY KEY (aggregate_type, aggregate_id)
);
CREATE TABLE outbox_lanes (
  lane smallint PRIMARY KEY,
  claimed_by text,
  claim_until timestamptz,
  fence bigint NOT NULL DEFAULT 0
);
CREATE TABLE outbox_relays (
  relay_id text PRIMARY KEY,
  heartbeat_until timestamptz NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE outbox_holds (
  aggregate_type text NOT NULL,
  aggregate_id text NOT NULL,
  lane smallint NOT NULL,
  event_id uuid NOT NULL,
  aggregate_sequence bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('retrying', 'scheduled', 'quarantined', 'releasing')),
  released_through bigint,
  attempt_count integer NOT NULL DEFAULT 0,
  retry_at timestamptz,
  last_error text,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (aggregate_type, aggregate_id)
);
CREATE INDEX outbox_holds_due ON outbox_holds (lane, retry_at);
CREATE TABLE outbox_repairs (
  event_id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('replace', 'skip')),
  payload jsonb,
  schema_version integer,
  who text NOT NULL,
  why text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE outbox_published (
  event_id uuid PRIMARY KEY,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  relay text NOT NULL
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
