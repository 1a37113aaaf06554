//! What the columns of a file mean.

use super::{FIELD, MEASUREMENT, METRIC, TIME};
use crate::error::Error;
use crate::line::fault_of;

/// What an import was told about the columns of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The measurement of all rows, for a file that has no column of measurements.
    pub measurement: Option<String>,
    /// The column of times, if it is not called `time`.
    pub time: Option<String>,
    /// Columns of texts that are fields; other texts are labels.
    pub texts: Vec<String>,
    /// Columns of numbers that are labels; other numbers are fields.
    pub labels: Vec<String>,
    /// Columns that are left out.
    pub without: Vec<String>,
}

/// The columns of a file by what they mean, as their places among all columns.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) time: usize,
    pub(crate) time_name: String,
    pub(crate) time_unit: Unit,
    pub(crate) measurement: Origin,
    /// In the order of their names.
    pub(crate) labels: Vec<(String, usize)>,
    /// The column that names the field of [`Shape::values`].
    pub(crate) field: Option<usize>,
    pub(crate) values: Vec<usize>,
    /// Fields of their own.
    pub(crate) fields: Vec<(String, usize)>,
    /// Whether rows say the kinds of their values, as samples that were read from a store.
    pub(crate) is_exact: bool,
}

/// Where a row's measurement is from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Column(usize),
    Told(String),
}

/// What a time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Days,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    pub(crate) fn ns(self) -> i64 {
        match self {
            Self::Days => 86_400_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Times(Unit),
    Texts,
    Numbers,
}

/// What a file itself says of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Nothing: what it holds and what it is called tell.
    Open,
    Measurement,
    Label(String),
    /// The value of the field that a row names.
    Value,
    /// The same, of a kind that the row says.
    Kept,
    /// It is read together with another one, or not at all.
    Aside,
}

/// A column that is not left out.
struct Column {
    at: usize,
    name: String,
    holds: Holds,
    role: Role,
}

impl Shape {
    /// Understands the columns of these names; `look` tells what one of them holds, by its place,
    /// and is not asked of those that are left out.
    ///
    /// # Errors
    /// When a column cannot be read, or it is not clear what one means.
    pub(crate) fn of(
        names: &[String],
        told: &Told,
        look: impl Fn(usize) -> Result<(Holds, Role), Error>,
    ) -> Result<Self, Error> {
        for (name, flag) in names_told(told) {
            if !names.contains(name) {
                let known = names.join(", ");
                return Err(told_wrong(&format!("{flag} {name}: the columns are {known}")));
            }
        }
        let mut columns = Vec::new();
        for (at, name) in names.iter().enumerate() {
            if !told.without.contains(name) {
                let (holds, role) = look(at)?;
                columns.push(Column { at, name: name.clone(), holds, role });
            }
        }
        let (time, time_name, time_unit) = time(&columns, told)?;
        let at = |wanted: &str| {
            let is_it = |column: &&Column| {
                column.name == wanted
                    && column.holds == Holds::Texts
                    && column.role == Role::Open
                    && !told.texts.contains(&column.name)
            };
            columns.iter().find(is_it).map(|column| column.at)
        };
        let said = columns.iter().find(|column| column.role == Role::Measurement);
        let named = said.map(|column| column.at).or_else(|| at(MEASUREMENT)).or_else(|| at(METRIC));
        let measurement = match (&told.measurement, named) {
            (Some(told), _) => Origin::Told(told.clone()),
            (None, Some(at)) => Origin::Column(at),
            (None, None) => {
                return Err(told_wrong(
                    "no column is called measurement: give it with --measurement NAME",
                ));
            }
        };
        // Where a file says what is a label, a text that stands beside these is none.
        let told = &match columns.iter().any(|column| matches!(column.role, Role::Label(_))) {
            true => with_texts(told, &columns),
            false => told.clone(),
        };
        // Without values to name it is a label as any other.
        let has = |role: Role| columns.iter().any(|column| column.role == role);
        let field = at(FIELD).filter(|_| has(Role::Value) || has(Role::Kept));
        let is_exact = field.is_some() && has(Role::Kept);
        let (labels, values, fields) = (Vec::new(), Vec::new(), Vec::new());
        let mut shape = Self {
            time,
            time_name,
            time_unit,
            measurement,
            labels,
            field,
            values,
            fields,
            is_exact,
        };
        for column in columns {
            shape.take(column, told)?;
        }
        shape.check()?;
        shape.labels.sort();
        Ok(shape)
    }

    /// The places of the columns that are read.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut all = vec![self.time];
        all.extend(self.field);
        all.extend(&self.values);
        all.extend(self.labels.iter().chain(&self.fields).map(|(_, at)| *at));
        if let Origin::Column(at) = self.measurement {
            all.push(at);
        }
        all
    }

    /// Puts a column where it belongs.
    fn take(&mut self, column: Column, told: &Told) -> Result<(), Error> {
        let Column { at, name, holds, role } = column;
        let is_measurement = name == MEASUREMENT || role == Role::Measurement;
        let is_taken = at == self.time
            || self.field == Some(at)
            || role == Role::Aside
            || matches!(self.measurement, Origin::Column(taken) if taken == at)
            || (is_measurement && told.measurement.is_some());
        if is_taken {
            return Ok(());
        }
        match role {
            Role::Value | Role::Kept if self.field.is_some() => self.values.push(at),
            Role::Label(label) if holds == Holds::Texts => self.labels.push((label, at)),
            _ if told.labels.contains(&name) => self.labels.push((name, at)),
            _ if matches!(holds, Holds::Times(_)) => {
                return Err(told_wrong(&format!(
                    "column {name:?} is one more column of times: --without {name} leaves it out"
                )));
            }
            _ if holds == Holds::Texts && !told.texts.contains(&name) => {
                self.labels.push((name, at));
            }
            _ => self.fields.push((name, at)),
        }
        Ok(())
    }

    /// Says why rows of this shape can be no lines.
    fn check(&self) -> Result<(), Error> {
        let mut named = self.labels.iter().chain(&self.fields).filter(|_| !self.is_exact);
        let fault = named.find_map(|(name, _)| Some((name, fault_of(name.as_bytes())?)));
        if let Some((name, why)) = fault {
            return Err(Error::Format(format!("column {name:?}: {why}")));
        }
        match self.fields.is_empty() && self.values.is_empty() {
            true => Err(told_wrong("no column holds numbers: name a column of texts with --text")),
            false => Ok(()),
        }
    }
}

/// What was told, with all texts that are not said to be labels as fields.
fn with_texts(told: &Told, columns: &[Column]) -> Told {
    let texts = columns.iter().filter(|column| {
        column.holds == Holds::Texts
            && !matches!(column.role, Role::Label(_))
            && ![MEASUREMENT, METRIC, FIELD].contains(&&*column.name)
    });
    Told { texts: texts.map(|column| column.name.clone()).collect(), ..told.clone() }
}

/// Columns that the command line names.
fn names_told(told: &Told) -> impl Iterator<Item = (&String, &'static str)> {
    let time = told.time.iter().map(|name| (name, "--time"));
    let texts = told.texts.iter().map(|name| (name, "--text"));
    let labels = told.labels.iter().map(|name| (name, "--label"));
    let without = told.without.iter().map(|name| (name, "--without"));
    time.chain(texts).chain(labels).chain(without)
}

/// The column of times: the one that is named, the one called `time`, or the only one.
fn time(columns: &[Column], told: &Told) -> Result<(usize, String, Unit), Error> {
    let wanted = told.time.as_deref();
    let named = |wanted: &str| columns.iter().find(|column| column.name == wanted);
    if let Some(Column { at, name, holds, .. }) = named(wanted.unwrap_or(TIME)) {
        return match holds {
            Holds::Times(unit) => Ok((*at, name.clone(), *unit)),
            _ => Err(told_wrong(&format!(
                "column {name:?} holds no timestamps: have it written as timestamps, or name \
                 another with --time"
            ))),
        };
    }
    let mut times = columns.iter().filter_map(|column| match column.holds {
        Holds::Times(unit) => Some((column.at, &column.name, unit)),
        _ => None,
    });
    match (times.next(), times.next()) {
        (Some((at, name, unit)), None) => Ok((at, name.clone(), unit)),
        (None, _) => Err(Error::Format("no column holds timestamps".to_owned())),
        (Some((_, one, _)), Some((_, other, _))) => Err(told_wrong(&format!(
            "columns {one:?} and {other:?} hold timestamps: say which with --time"
        ))),
    }
}

fn told_wrong(reason: &str) -> Error {
    Error::Told(reason.to_owned())
}
