//! Windows: one value per stretch of time of one series.

mod calendar;
mod fixed;
pub(crate) mod grid;

pub(crate) use fixed::FixedWindows;
pub(crate) use grid::Grid;
