DROP TABLE IF EXISTS consumer_parked;
DROP TABLE IF EXISTS consumer_positions;
DROP TABLE IF EXISTS processed_events;
