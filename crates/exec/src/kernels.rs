//! Kernels: what values come to, free of plans, series and rows. Every evaluator folds with these,
//! so that the same values come to the same result whichever way they are read.

pub(crate) mod number;
pub(crate) mod sum;
pub(crate) mod tally;
mod total;
pub(crate) mod wholes;
