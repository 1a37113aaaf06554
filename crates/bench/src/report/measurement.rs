//! Numbers as the tables of reports write them: spaces between thousands, and the range of several
//! runs behind the median in parentheses.

/// What a cell says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) text: String,
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Measurement {
    /// Reads a cell; none where it holds no number.
    pub(crate) fn read(cell: &str) -> Option<Measurement> {
        let (median, range) = cell.split_once(" (").unwrap_or((cell, ""));
        let median = number(median)?;
        let range = range.strip_suffix(')').and_then(|range| range.split_once(" to "));
        let range = range.and_then(|(least, most)| Some((number(least)?, number(most)?)));
        let (least, most) = range.unwrap_or((median, median));
        Some(Measurement { text: cell.to_owned(), least, median, most })
    }
}

fn number(text: &str) -> Option<f64> {
    let digits: String = text.chars().filter(|letter| !" ,%".contains(*letter)).collect();
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_tables_write_them() {
        let read = |cell| Measurement::read(cell).map(|m| (m.least, m.median, m.most));
        assert_eq!(read("1 234 567"), Some((1_234_567.0, 1_234_567.0, 1_234_567.0)));
        assert_eq!(read("2 500 (1 900 to 3 100)"), Some((1900.0, 2500.0, 3100.0)));
        assert_eq!(read("0.25 (0.20 to 0.30)"), Some((0.2, 0.25, 0.3)));
        for none in ["-", "n/a", "word", "", "inf"] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
