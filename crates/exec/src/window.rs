//! Windows: one value per stretch of time of one series. [`fixed`] windows stand side by side,
//! [`slide`] ones look back from regular instants and may overlap.

mod calendar;
mod fixed;
pub(crate) mod grid;
mod slide;

pub(crate) use fixed::FixedWindows;
pub(crate) use grid::Grid;
pub(crate) use slide::SlidingWindows;

use crate::Error;
use crate::limits::Meter;
use crate::stream::Stream;
use foliot_plan::{Window, Windows};

/// The windows that a plan asks for, over `input`.
pub(crate) fn open<'q>(
    window: &Window,
    input: Stream<'q>,
    meter: &'q Meter,
) -> Result<Stream<'q>, Error> {
    Ok(match Grid::new(&window.windows)? {
        Some(grid) => Stream::Window(Box::new(FixedWindows::new(window, grid, input, meter)?)),
        None => Stream::Slide(Box::new(SlidingWindows::new(window, input, meter)?)),
    })
}

/// Whether a plan's windows are the same for every series, so that series can be folded into slots.
pub(crate) fn shared_grid(windows: &Windows) -> Result<Option<Grid>, Error> {
    Ok(Grid::new(windows)?.filter(Grid::is_shared))
}
