//! Pure compression of samples: slices to bytes and back.
