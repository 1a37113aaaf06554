//! Writes tables to a terminal or a file. A long series comes in pieces: its heading is written
//! once, and the widths of its first piece hold for those that follow.

use super::answer::Table;
use crate::remote::visible;
use std::io::{self, Write};

/// Most characters of a picture of a series, which has half as many at least if it has the samples.
const PICTURE_CHARS_MAX: usize = 64;

/// Bars from low to high.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For people, with a picture of each series.
    Table,
    /// RFC 4180; what has other columns begins anew after an empty line.
    Csv,
    /// The server's own answer, one document.
    Json,
    Markdown,
    /// A file of one answer, which is no text and so not printed here.
    Parquet,
}

impl Format {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "csv" => Self::Csv,
            "json" => Self::Json,
            "markdown" => Self::Markdown,
            "parquet" => Self::Parquet,
            _ => Self::Table,
        }
    }
}

/// Prints the pieces of one answer.
pub(super) struct Printer {
    format: Format,
    /// What stands above the rows that were printed last.
    heading: Option<Vec<String>>,
    widths: Vec<usize>,
    pictures: Vec<(String, Picture)>,
}

impl Printer {
    pub(super) fn new(format: Format) -> Self {
        Self { format, heading: None, widths: Vec::new(), pictures: Vec::new() }
    }

    /// Prints one piece, which is given as the server sent it and as what it says.
    pub(super) fn print(
        &mut self,
        piece: &str,
        tables: &[Table],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if self.format == Format::Json {
            return writeln!(out, "{piece}");
        }
        tables.iter().try_for_each(|table| match self.format {
            Format::Table => self.people(table, out),
            _ => self.rows(table, out),
        })
    }

    /// Ends the answer.
    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for (column, picture) in self.pictures.drain(..) {
            if let Some(bars) = picture.bars() {
                let (low, high) = (picture.low, picture.high);
                writeln!(out, "{column} {bars} from {low} to {high}")?;
            }
        }
        Ok(())
    }

    /// A table for people, below the name of its series.
    fn people(&mut self, table: &Table, out: &mut dyn Write) -> io::Result<()> {
        let mut title = visible(&table.name);
        for (name, value) in &table.labels {
            title.push_str(&format!(" {}={}", visible(name), visible(value)));
        }
        let columns: Vec<String> = table.columns.iter().map(|column| visible(column)).collect();
        let rows: Vec<Vec<String>> =
            table.rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
        let heading: Vec<String> = std::iter::once(title.clone()).chain(columns.clone()).collect();
        if self.heading.as_ref() != Some(&heading) {
            self.finish(out)?;
            if self.heading.is_some() {
                writeln!(out)?;
            }
            let width = |(index, column): (usize, &String)| {
                let cells = rows.iter().filter_map(|row| row.get(index));
                cells.chain([column]).map(|cell| cell.chars().count()).max().unwrap_or(0)
            };
            self.widths = columns.iter().enumerate().map(width).collect();
            let shown = columns.iter().filter(|column| *column != "time");
            self.pictures = shown.map(|column| (column.clone(), Picture::default())).collect();
            if !title.trim().is_empty() {
                writeln!(out, "{}", title.trim())?;
            }
            self.line(&columns, out)?;
            self.heading = Some(heading);
        }
        for row in &rows {
            self.line(row, out)?;
            for (column, cell) in columns.iter().zip(row) {
                let picture = self.pictures.iter_mut().find(|(name, _)| name == column);
                if let (Some((_, picture)), Ok(number)) = (picture, cell.parse::<f64>()) {
                    picture.add(number);
                }
            }
        }
        Ok(())
    }

    fn line(&self, cells: &[String], out: &mut dyn Write) -> io::Result<()> {
        let mut text = String::new();
        for (cell, width) in cells.iter().zip(&self.widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        writeln!(out, "{}", text.trim_end())
    }

    /// Rows for other programs, each with the name and the labels of its series.
    fn rows(&mut self, table: &Table, out: &mut dyn Write) -> io::Result<()> {
        let labels = table.labels.iter().map(|(name, _)| name.clone());
        // The table of a statement of SQL has no name.
        let name = (!table.name.is_empty()).then(|| "name".to_owned());
        let heading: Vec<String> =
            name.into_iter().chain(labels).chain(table.columns.clone()).collect();
        if self.heading.as_ref() != Some(&heading) {
            if self.heading.is_some() {
                out.write_all(self.line_end())?;
            }
            self.row(heading.iter(), out)?;
            if self.format == Format::Markdown {
                writeln!(out, "|{}", "---|".repeat(heading.len()))?;
            }
            self.heading = Some(heading);
        }
        let name = Some(&table.name).filter(|name| !name.is_empty());
        let series = name.into_iter().chain(table.labels.iter().map(|(_, value)| value));
        table.rows.iter().try_for_each(|row| self.row(series.clone().chain(row), out))
    }

    fn row<'a>(
        &self,
        cells: impl Iterator<Item = &'a String>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let text = match self.format {
            Format::Markdown => {
                let cells = cells.map(|cell| format!(" {} |", visible(cell).replace('|', "\\|")));
                format!("|{}", cells.collect::<String>())
            }
            _ => cells.map(|cell| quoted(cell)).collect::<Vec<_>>().join(","),
        };
        out.write_all(text.as_bytes())?;
        out.write_all(self.line_end())
    }

    fn line_end(&self) -> &'static [u8] {
        if self.format == Format::Csv { b"\r\n" } else { b"\n" }
    }
}

/// A cell of CSV.
fn quoted(cell: &str) -> String {
    match cell.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// Numbers drawn as a row of bars. When there are too many, neighbours become one, so that a series
/// of any length takes the same memory.
#[derive(Debug)]
struct Picture {
    /// Sums of `each` numbers; the last one may have fewer.
    sums: Vec<(f64, usize)>,
    each: usize,
    low: f64,
    high: f64,
}

impl Default for Picture {
    fn default() -> Self {
        Self { sums: Vec::new(), each: 1, low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl Picture {
    fn add(&mut self, number: f64) {
        if !number.is_finite() {
            return;
        }
        self.low = self.low.min(number);
        self.high = self.high.max(number);
        match self.sums.last_mut() {
            Some((sum, count)) if *count < self.each => {
                *sum += number;
                *count += 1;
            }
            _ => self.sums.push((number, 1)),
        }
        if self.sums.len() > PICTURE_CHARS_MAX {
            let both = |pair: &[(f64, usize)]| {
                pair.iter().fold((0.0, 0), |(sum, count), one| (sum + one.0, count + one.1))
            };
            self.sums = self.sums.chunks(2).map(both).collect();
            self.each *= 2;
        }
    }

    /// None of a single number, which has no shape.
    fn bars(&self) -> Option<String> {
        let height = self.high - self.low;
        let bar = |&(sum, count): &(f64, usize)| {
            let share = (sum / count as f64 - self.low) / height;
            // What is all the same is drawn low.
            let step = if share.is_finite() { share * (BARS.len() - 1) as f64 } else { 0.0 };
            BARS.get(step.round() as usize).copied().unwrap_or('█')
        };
        (self.sums.len() > 1).then(|| self.sums.iter().map(bar).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_a_ramp_rises_and_stays_small() {
        let mut picture = Picture::default();
        (0..8).for_each(|number| picture.add(f64::from(number)));
        assert_eq!(picture.bars().unwrap(), "▁▂▃▄▅▆▇█");
        (8..100_000).for_each(|number| picture.add(f64::from(number)));
        let bars: Vec<char> = picture.bars().unwrap().chars().collect();
        assert!((32..=64).contains(&bars.len()), "{}", bars.len());
        assert!(bars.is_sorted() && bars.first() == Some(&'▁') && bars.last() == Some(&'█'));
        assert_eq!((picture.low, picture.high), (0.0, 99_999.0));
    }

    #[test]
    fn one_number_has_no_picture() {
        let mut picture = Picture::default();
        assert_eq!(picture.bars(), None);
        picture.add(1.0);
        picture.add(f64::NAN);
        assert_eq!(picture.bars(), None);
        picture.add(1.0);
        assert_eq!(picture.bars().unwrap(), "▁▁");
    }
}
