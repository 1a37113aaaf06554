//! The InfluxDB door: line protocol to batches.
