//! Carries out plans over snapshots.
