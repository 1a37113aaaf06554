//! Kernels: what values come to, free of series, rows and how they are read; of a plan they know
//! the words for what is wanted. Every evaluator folds with these, so that the same values come to
//! the same result whichever way they are read.

pub(crate) mod arithmetic;
pub(crate) mod columns;
pub(crate) mod moments;
pub(crate) mod number;
pub(crate) mod quantile;
pub(crate) mod rank;
pub(crate) mod sliding;
pub(crate) mod sum;
pub(crate) mod tally;
pub(crate) mod ternary;
mod total;
pub(crate) mod wholes;
