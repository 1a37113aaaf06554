//! The OpenTSDB door: bytes to batches, text to plans, frames to bytes.
