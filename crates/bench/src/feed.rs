//! A feed cuts the rows of one connection into requests. The load renders what it gives, the
//! oracle counts what it gives; both see the same requests.

use crate::cursor::{Cursor, Row, Share, is_present};
use crate::disorder::Disorder;
use crate::encode::{Encoder, Format};
use crate::fleet::Fleet;

/// The requests of one connection, in order.
pub(crate) struct Feed<'a> {
    cursor: Cursor<'a>,
    format: Format,
    lines_max: u64,
    /// Request after which the feed ends, for a load that was stopped by the clock.
    end: Option<u64>,
    request: u64,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(
        fleet: &'a Fleet,
        disorder: Disorder,
        share: Share,
        format: Format,
        lines_max: u64,
    ) -> Feed<'a> {
        let cursor = Cursor::new(fleet, disorder, share);
        Feed { cursor, format, lines_max: lines_max.max(1), end: None, request: 0 }
    }

    /// The step before which all rows were given, late ones excepted.
    pub(crate) fn complete_step(&self) -> u64 {
        self.cursor.complete_step()
    }

    /// Ends the feed after `count` requests.
    pub(crate) fn truncate(&mut self, count: u64) {
        self.end = Some(count);
    }

    /// Shows the rows of the next request to `visit`; false when there is no next request.
    pub(crate) fn request(&mut self, mut visit: impl FnMut(&Row<'_>)) -> bool {
        if self.end.is_some_and(|end| self.request >= end) {
            return false;
        }
        let mut lines = 0;
        while lines < self.lines_max {
            let Some(row) = self.cursor.row() else { break };
            lines += match self.format.is_by_row() {
                true => 1,
                false => row.values.iter().filter(|value| is_present(**value)).count() as u64,
            };
            visit(&row);
        }
        self.request += 1;
        lines > 0
    }
}

/// Renders the next request; 0 when there is none.
pub(crate) fn fill(feed: &mut Feed<'_>, encoder: &mut Encoder<'_>, body: &mut Vec<u8>) -> u64 {
    body.clear();
    encoder.open(body);
    let mut points = 0;
    feed.request(|row| points += encoder.row(row, body).1);
    encoder.close(body);
    points
}
