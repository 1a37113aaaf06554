//! What columns hold, as their header and first rows tell.

use super::cell::{date_ns, has_commas, is_number, is_whole, truth};
use super::rows::Row;
use super::saved::{NAME, Said, VALUE, kind_named, label_of_column, unguarded};
use super::{Precision, Spelled};
use crate::columns::{FIELD, Holds, MEASUREMENT, Role, Shape, TIME, Told, Unit};
use crate::error::Error;

/// How the cells of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Time(Precision),
    Text,
    Float,
    Integer,
    Unsigned,
    Boolean,
    /// As the cell of another column says.
    Kept(usize),
}

/// What a file is, as its header and first rows tell.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) names: Vec<String>,
    pub(super) reads: Vec<Reads>,
    /// Where a file of samples has what it says of itself.
    pub(super) said: Option<Said>,
    /// What its numbers count that are times, where their size told it.
    pub(super) guessed: Option<Precision>,
}

impl Look {
    /// Looks at a header and the rows below it.
    ///
    /// # Errors
    /// When it is no header, or what a column holds cannot be read.
    pub(super) fn at(
        header: &Row,
        rows: &[Row],
        told: &Told,
        spelled: Spelled,
    ) -> Result<Self, Error> {
        let names = names(header)?;
        let rows: Vec<Vec<&str>> =
            rows.iter().filter(|row| row.fault.is_none()).map(cells).collect();
        if let Some(said) = said(&names, &rows, told) {
            let names: Vec<String> = names.iter().map(|name| unguarded(name).to_owned()).collect();
            let reads = |at: usize| match at {
                at if at == said.time => Reads::Time(said.precision),
                at if at == said.value => Reads::Kept(said.kind),
                _ => Reads::Text,
            };
            let reads = (0..names.len()).map(reads).collect();
            return unequal(&names).map(|()| Self {
                names,
                reads,
                said: Some(said),
                guessed: None,
            });
        }
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        check(&names, header.line)?;
        unequal(&names)?;
        let mut look = Self { names, reads: Vec::new(), said: None, guessed: None };
        for at in 0..look.names.len() {
            let stand = rows.iter().filter_map(|row| row.get(at).map(|cell| cell.trim()));
            let stand: Vec<&str> = stand.filter(|cell| !cell.is_empty()).collect();
            let reads = look.reads(at, &stand, told, spelled)?;
            look.reads.push(reads);
        }
        if !look.reads.iter().any(|reads| matches!(reads, Reads::Time(_))) {
            look.find_time(&rows, told, spelled);
        }
        Ok(look)
    }

    /// Takes for times what has the name of it and a time in one row at least: the other rows are
    /// refused then, each by its line.
    fn find_time(&mut self, rows: &[Vec<&str>], told: &Told, spelled: Spelled) {
        let is_named = |name: &String| match &told.time {
            Some(time) => time == name,
            None => is_times_name(name),
        };
        let Some(at) = self.names.iter().position(is_named) else { return };
        let is_time = |cell: &&str| is_date(cell) || is_large(cell);
        let mut cells = rows.iter().filter_map(|row| row.get(at).map(|cell| cell.trim()));
        if let Some(cell) = cells.find(is_time) {
            let reads = self.time_reads(&[cell], spelled);
            self.reads.splice(at..=at, [reads]);
        }
    }

    fn time_reads(&mut self, stand: &[&str], spelled: Spelled) -> Reads {
        let number = stand.iter().find(|cell| is_number(cell));
        let size = number.and_then(|cell| cell.parse().ok()).map(Precision::of);
        if spelled.precision.is_none() {
            self.guessed = self.guessed.or(size);
        }
        Reads::Time(spelled.precision.or(size).unwrap_or(Precision::Nanoseconds))
    }

    /// Understands the columns.
    ///
    /// # Errors
    /// When it is not clear what one means.
    pub(super) fn shape(&self, told: &Told) -> Result<Shape, Error> {
        let is_time = |reads: &Reads| matches!(reads, Reads::Time(_));
        if told.time.is_none() && !self.reads.iter().any(is_time) {
            return Err(Error::Told(format!(
                "no column holds times, as 2026-01-31T10:00:00Z or seconds since 1970: name it \
                 with --time COLUMN; the columns are {}",
                self.names.join(", ")
            )));
        }
        Shape::of(&self.names, told, |at| {
            let holds = match self.reads.get(at) {
                Some(Reads::Time(_)) => Holds::Times(Unit::Nanoseconds),
                Some(Reads::Text) | None => Holds::Texts,
                Some(_) => Holds::Numbers,
            };
            Ok((holds, self.role(at, told)))
        })
    }

    /// What the file says that a column is.
    fn role(&self, at: usize, told: &Told) -> Role {
        let name = self.names.get(at).map_or("", String::as_str);
        match self.said {
            // As the first column of an index that has no name.
            _ if name.is_empty() => Role::Aside,
            None => self.role_by_name(at, name, told),
            Some(said) if at == said.measurement => Role::Measurement,
            Some(said) if at == said.kind => Role::Aside,
            Some(said) if at == said.value => Role::Kept,
            Some(said) if at == said.time || at == said.field => Role::Open,
            Some(_) => Role::Label(label_of_column(name).to_owned()),
        }
    }

    /// The role of a column in an answer that was saved or printed without kinds.
    fn role_by_name(&self, at: usize, name: &str, told: &Told) -> Role {
        let has = |wanted: &str| self.names.iter().any(|name| name == wanted);
        let is_long = has(FIELD) && has(VALUE) && (has(MEASUREMENT) || has(NAME));
        // `foliot query` prints the measurement first.
        let names_measurement = is_long || (at == 0 && has(TIME));
        let is_free = told.measurement.is_none() && !has(MEASUREMENT);
        let is_text = self.reads.get(at) == Some(&Reads::Text);
        match name {
            NAME if names_measurement && is_free && is_text => Role::Measurement,
            VALUE if is_long => Role::Value,
            _ => Role::Open,
        }
    }

    /// How the cells of a column are read, by those that stand in its first rows.
    fn reads(
        &mut self,
        at: usize,
        stand: &[&str],
        told: &Told,
        spelled: Spelled,
    ) -> Result<Reads, Error> {
        let name = self.names.get(at).map_or("", String::as_str);
        let is_in = |names: &[String]| names.iter().any(|told| told == name);
        if is_in(&told.texts) || is_in(&told.labels) || is_in(&told.without) || name.is_empty() {
            return Ok(Reads::Text);
        }
        if is_time(name, stand, told, spelled) {
            return Ok(self.time_reads(stand, spelled));
        }
        if are_most(stand, is_number) || stand.is_empty() {
            return Ok(number_reads(stand));
        }
        if are_most(stand, |cell| truth(cell).is_some()) {
            return Ok(Reads::Boolean);
        }
        if are_most(stand, |cell| is_number(cell) || has_commas(cell)) {
            let cell = stand.iter().find(|cell| has_commas(cell)).unwrap_or(&"");
            return Err(Error::Told(format!(
                "column {name:?} has numbers with commas, as {cell:?}: have them written with \
                 points and without commas, or take them as texts with --label {name} or --text \
                 {name}; the page's Import reads them"
            )));
        }
        Ok(Reads::Text)
    }
}

/// How numbers are read: as floats, unless there are whole ones that a float would change.
fn number_reads(stand: &[&str]) -> Reads {
    const WHOLE_MAX: u64 = (1 << 53) - 1;
    let size = |cell: &&str| cell.trim_start_matches('-').parse::<u64>().unwrap_or(u64::MAX);
    let are_whole = stand.iter().all(|cell| is_whole(cell));
    if !are_whole || stand.iter().all(|cell| size(cell) <= WHOLE_MAX) {
        return Reads::Float;
    }
    match stand.iter().any(|cell| !cell.starts_with('-') && size(cell) > i64::MAX as u64) {
        true => Reads::Unsigned,
        false => Reads::Integer,
    }
}

/// Whether so many of the cells are so that the column is: those that are not are refused later,
/// each by its line.
fn are_most(stand: &[&str], is: impl Fn(&str) -> bool) -> bool {
    stand.iter().filter(|cell| is(cell)).count() * 2 > stand.len()
}

/// Whether a column has a name under which numbers may be times.
pub(super) fn is_times_name(name: &str) -> bool {
    const NAMES: [&str; 8] = ["time", "timestamp", "ts", "date", "datetime", "when", "at", "_time"];
    const UNITS: [&str; 4] = ["ms", "ns", "us", "s"];
    let name = name.to_ascii_lowercase();
    let counts = |rest: &str| UNITS.contains(&rest.strip_prefix('_').unwrap_or(rest));
    NAMES.contains(&&*name) || name.strip_prefix("time").is_some_and(counts)
}

fn is_date(cell: &str) -> bool {
    date_ns(cell).is_some()
}

/// Whether a number is so large that it may be a time: as seconds it is one after 1973.
fn is_large(cell: &str) -> bool {
    is_number(cell) && cell.parse().is_ok_and(|number: f64| number.abs() > 1e8)
}

/// Whether a column holds times.
fn is_time(name: &str, stand: &[&str], told: &Told, spelled: Spelled) -> bool {
    let is_named = told.time.as_deref().map(|time| time == name);
    let counts = match is_named {
        Some(is_it) => is_it,
        None => is_times_name(name) && spelled.precision.is_some(),
    };
    match is_named {
        _ if counts => are_most(stand, |cell| is_number(cell) || is_date(cell)),
        None if is_times_name(name) => are_most(stand, |cell| is_large(cell) || is_date(cell)),
        _ => are_most(stand, is_date),
    }
}

/// What the file says that was saved here; nothing where it is somebody else's, or is to be
/// understood in another way.
fn said(names: &[String], rows: &[Vec<&str>], told: &Told) -> Option<Said> {
    let said = Said::of(names)?;
    let Said { time, measurement, field, kind, value, .. } = said;
    let name = |at: usize| names.get(at).map_or("", |name| unguarded(name));
    let is_whole = [time, measurement, field, kind, value]
        .into_iter()
        .all(|at| !told.without.iter().any(|without| without == name(at)));
    let is_timed = told.time.as_deref().is_none_or(|wanted| wanted == name(time));
    // One row that is damaged does not make others of all the rest.
    let kinds = rows.iter().filter(|row| row.len() == names.len()).filter_map(|row| row.get(kind));
    let kinds: Vec<&str> = kinds.copied().filter(|kind| !kind.is_empty()).collect();
    let is_ours = kinds.is_empty() || are_most(&kinds, |kind| kind_named(kind).is_some());
    (is_whole && is_timed && is_ours).then_some(said)
}

/// The names of a header, as they stand there.
fn names(header: &Row) -> Result<Vec<String>, Error> {
    if let Some(fault) = &header.fault {
        return Err(Error::Format(format!("line {}: {fault}", header.line)));
    }
    let name = |cell: &[u8]| String::from_utf8(cell.to_vec());
    header.cells().map(name).collect::<Result<_, _>>().map_err(|_| {
        Error::Format(
            "its header is no UTF-8: convert the file, as by `iconv -f ISO-8859-1 -t UTF-8 FILE`"
                .to_owned(),
        )
    })
}

/// The cells of a row, with a sign that is in no number and no time where there is no UTF-8.
fn cells(row: &Row) -> Vec<&str> {
    row.cells().map(|cell| std::str::from_utf8(cell).unwrap_or("\u{fffd}")).collect()
}

/// Says why a row is no header.
fn check(names: &[String], line: u64) -> Result<(), Error> {
    if let [name] = names {
        let mark = [",", ";", "\t", "|"].into_iter().find(|mark| name.contains(mark));
        return Err(match mark {
            Some(mark) => {
                let mark = if mark == "\t" { "tab".to_owned() } else { format!("'{mark}'") };
                Error::Told(format!(
                    "its header has one column: if {mark} divides cells, say so with --separator \
                     {mark}"
                ))
            }
            None => Error::Format(
                "its header has one column, and one of times and one of values are needed"
                    .to_owned(),
            ),
        });
    }
    let is_named = names.iter().any(|name| !name.is_empty() && !is_number(name));
    let odd = names.iter().find(|name| is_date(name) || is_large(name) || !is_named);
    match odd {
        None => Ok(()),
        Some(odd) => Err(Error::Format(format!(
            "line {line} is no header, since {odd:?} is no name of a column: put a line with the \
             names of the columns before it"
        ))),
    }
}

/// Says which of the columns have the same name.
fn unequal(names: &[String]) -> Result<(), Error> {
    let mut sorted: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair.first() == pair.last()) {
        Some([name, ..]) => Err(Error::Format(format!(
            "two columns are called {name:?}: give one of them another name in the header"
        ))),
        _ => Ok(()),
    }
}
