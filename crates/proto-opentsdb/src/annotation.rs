//! Annotations: notes at instants, of one series or of everything.
//!
//! A note is a fact of the catalog, of kind `annotation`, under
//! `<namespace>/<tsuid>/<start in milliseconds, 16 hexadecimal digits>`; the TSUID is empty for a
//! note about everything. Its bytes are the note's JSON.
//!
//! Differs from OpenTSDB on purpose: a range of global notes ends where it was asked to end, and
//! not with the hour.

use crate::http::{HttpError, HttpRequest, Params, method};
use crate::json;
use crate::lang::time::parse_time;
use crate::view::{Answer, Change, View};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

/// The kind of these facts.
pub(crate) const KIND: &str = "annotation";

/// What a change takes beside what it says.
const FACT_BYTES: usize = 128;

/// Timestamps from here on are in milliseconds: OpenTSDB looks at the upper 32 bits.
const MILLIS_FROM: i64 = 1 << 32;

/// A note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// The series; empty for a note about everything.
    pub(crate) tsuid: String,
    /// In seconds or milliseconds, as it was written.
    pub(crate) start: i64,
    /// Likewise; 0 when the note is about an instant.
    pub(crate) end: i64,
    pub(crate) description: String,
    pub(crate) notes: String,
    pub(crate) custom: Option<Vec<(String, String)>>,
}

/// Answers `/api/annotation`, `/api/annotations` and their `/bulk`.
///
/// # Errors
/// 400 for what does not parse or has no start, 404 when there is no such note.
pub(crate) fn answer(
    request: &HttpRequest<'_>,
    tail: &str,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    let params = Params::parse(request.query);
    let method = method(request);
    let is_list = request.path.to_ascii_lowercase().contains("/annotations");
    match (tail.ends_with("bulk"), method.as_str()) {
        (true, "POST" | "PUT") => store_all(request, method == "PUT", view),
        (true, "DELETE") => delete_all(request, &params, view),
        (true, _) => Err(crate::http::not_allowed(&method)),
        (false, "GET") if is_list => list(request, &params, view),
        (false, "GET") => {
            let note = note_of(request, &params, view)?;
            let stored = note
                .stored(view)?
                .ok_or_else(|| HttpError::new(404, "Unable to locate annotation in storage"))?;
            Ok(Answer::ok(&stored.to_json()))
        }
        (false, "DELETE") => {
            let note = note_of(request, &params, view)?;
            let change = note.change(view, false)?;
            Ok(Answer::empty(204).changing(vec![change]))
        }
        (false, _) => {
            let note = note_of(request, &params, view)?;
            match note.merged(method == "PUT", view)? {
                None => Ok(Answer::empty(304)),
                Some(note) => {
                    let change = note.change(view, true)?;
                    Ok(Answer::ok(&note.to_json()).changing(vec![change]))
                }
            }
        }
    }
}

/// Notes about everything whose start lies in a range of milliseconds, by their starts.
pub(crate) fn globals(view: &View<'_>, start_ms: i64, end_ms: i64) -> Result<Vec<Note>, HttpError> {
    let notes = notes(view, start_ms, end_ms)?;
    Ok(notes.into_iter().filter(|note| note.tsuid.is_empty()).collect())
}

/// Notes about everything that overlap a range of milliseconds, by their starts and as they are
/// answered: the `most` that begin last, and whether there are no others.
///
/// # Errors
/// When there is no time or memory for them.
pub fn notes_over(
    view: &View<'_>,
    (start_ms, end_ms): (i64, i64),
    most: usize,
) -> Result<(Vec<Value>, bool), HttpError> {
    let prefix = view.key("/");
    let facts = (view.facts)(KIND, &prefix)?;
    let mut found = Vec::new();
    // Keys end with the start, so that most of what is outside the range is not read at all.
    for (key, bytes) in facts.iter().rev() {
        let start = key.strip_prefix(&*prefix).and_then(|hex| i64::from_str_radix(hex, 16).ok());
        let Some(start) = start.filter(|start| *start <= end_ms) else { continue };
        if start < start_ms && is_instant(bytes) {
            continue;
        }
        let Some(note) = Note::from_bytes(bytes) else { continue };
        if to_ms(note.end).max(start) < start_ms {
            continue;
        }
        if found.len() == most {
            return Ok((in_order(found), false));
        }
        found.push(note.to_json());
    }
    Ok((in_order(found), true))
}

fn in_order(mut notes: Vec<Value>) -> Vec<Value> {
    notes.reverse();
    notes
}

/// Whether a stored note says plainly that it has no end.
fn is_instant(bytes: &[u8]) -> bool {
    const NO_END: &[u8] = b"\"endTime\":0,";
    bytes.windows(NO_END.len()).any(|part| part == NO_END)
}

/// All notes of the namespace whose start lies in a range of milliseconds, by their starts.
pub(crate) fn notes(view: &View<'_>, start_ms: i64, end_ms: i64) -> Result<Vec<Note>, HttpError> {
    let facts = (view.facts)(KIND, &view.key(""))?;
    let all = facts.iter().filter_map(|(_, bytes)| Note::from_bytes(bytes));
    let mut notes: Vec<Note> = all.collect();
    notes.retain(|note| (start_ms..=end_ms).contains(&note.start_ms()));
    notes.sort_by_key(Note::start_ms);
    Ok(notes)
}

impl Note {
    fn from_json(value: &Value) -> Result<Self, HttpError> {
        if !value.is_object() {
            return Err(HttpError::bad_request("Unable to parse the given JSON")
                .with_details("An annotation is an object"));
        }
        Ok(Self {
            tsuid: json::text(value, "tsuid")?.unwrap_or_default().to_uppercase(),
            start: json::integer(value, "startTime")?.unwrap_or(0),
            end: json::integer(value, "endTime")?.unwrap_or(0),
            description: json::text(value, "description")?.unwrap_or_default(),
            notes: json::text(value, "notes")?.unwrap_or_default(),
            custom: json::text_map(value, "custom")?,
        })
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_json(&serde_json::from_slice(bytes).ok()?).ok()
    }

    /// The note as answers show it.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("tsuid".to_owned(), self.tsuid.clone().into());
        map.insert("description".to_owned(), self.description.clone().into());
        map.insert("notes".to_owned(), self.notes.clone().into());
        if let Some(custom) = &self.custom {
            let pairs = custom.iter().map(|(key, value)| (key.clone(), value.clone().into()));
            map.insert("custom".to_owned(), Value::Object(pairs.collect()));
        }
        map.insert("endTime".to_owned(), self.end.into());
        map.insert("startTime".to_owned(), self.start.into());
        Value::Object(map)
    }

    /// When it begins, in milliseconds.
    pub(crate) fn start_ms(&self) -> i64 {
        to_ms(self.start)
    }

    fn key(&self, view: &View<'_>) -> Result<String, HttpError> {
        if self.start < 1 {
            return Err(HttpError::bad_request("The start timestamp has not been set"));
        }
        Ok(view.key(&format!("{}/{:016x}", self.tsuid, self.start_ms())))
    }

    fn stored(&self, view: &View<'_>) -> Result<Option<Self>, HttpError> {
        Ok((view.fact)(KIND, &self.key(view)?)?.and_then(|bytes| Self::from_bytes(&bytes)))
    }

    fn change(&self, view: &View<'_>, is_put: bool) -> Result<Change, HttpError> {
        let bytes = is_put.then(|| self.to_json().to_string().into_bytes());
        Ok(Change { kind: KIND, key: self.key(view)?, bytes })
    }

    /// What is to be stored: this note, with what it leaves out taken from the stored one unless
    /// it replaces that. Nothing when it says nothing.
    fn merged(mut self, replaces: bool, view: &View<'_>) -> Result<Option<Self>, HttpError> {
        let is_empty = self.end == 0
            && self.description.is_empty()
            && self.notes.is_empty()
            && self.custom.is_none();
        if is_empty {
            return self.key(view).map(|_| None);
        }
        if let Some(stored) = self.stored(view)? {
            self.start = self.start.min(stored.start);
            if !replaces {
                if self.end == 0 {
                    self.end = stored.end;
                }
                if self.description.is_empty() {
                    self.description = stored.description;
                }
                if self.notes.is_empty() {
                    self.notes = stored.notes;
                }
                self.custom = self.custom.or(stored.custom);
            }
        }
        Ok(Some(self))
    }
}

fn to_ms(time: i64) -> i64 {
    if time < MILLIS_FROM { time.saturating_mul(1000) } else { time }
}

/// The note that a request is about, from its body or else from its parameters.
fn note_of(request: &HttpRequest<'_>, params: &Params, view: &View<'_>) -> Result<Note, HttpError> {
    if !json::is_blank(request.body) {
        return Note::from_json(&json::parse(request.body)?);
    }
    let text = |name: &str| params.get(name).unwrap_or_default().to_owned();
    let start = text("start_time");
    if start.is_empty() {
        return Err(HttpError::bad_request("Missing start time"));
    }
    let end = text("end_time");
    let seconds = |text: &str| Ok(parse_time(text, &TimeZone::UTC, view.now_ms)? / 1000);
    Ok(Note {
        tsuid: text("tsuid").to_uppercase(),
        start: seconds(&start)?,
        end: if end.is_empty() { 0 } else { seconds(&end)? },
        description: text("description"),
        notes: text("notes"),
        custom: None,
    })
}

/// `GET /api/annotations`: notes about everything.
fn list(request: &HttpRequest<'_>, params: &Params, view: &View<'_>) -> Result<Answer, HttpError> {
    let range = note_of(request, params, view)?;
    let end_ms = if range.end == 0 { i64::MAX } else { to_ms(range.end) };
    if end_ms < range.start_ms() {
        let message = "The end timestamp cannot be less than the start timestamp";
        return Err(HttpError::bad_request(message));
    }
    let mut notes = globals(view, range.start_ms(), end_ms)?;
    notes.retain(|note| to_ms(note.end) <= end_ms);
    Ok(Answer::ok(&notes.iter().map(Note::to_json).collect()))
}

/// `POST` and `PUT /api/annotation/bulk`.
fn store_all(
    request: &HttpRequest<'_>,
    replaces: bool,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    let list = json::parse(request.body)?;
    let list = list.as_array().ok_or_else(|| json::wrong("the body", "an array of annotations"))?;
    let (mut changes, mut body) = (Vec::new(), String::from("["));
    for value in list {
        let note = Note::from_json(value)?;
        if note.start < 1 {
            let details = format!("Annotation error: {}", note.to_json());
            let error = HttpError::bad_request("The start timestamp has not been set");
            return Err(error.with_details(details));
        }
        if let Some(note) = note.merged(replaces, view)? {
            let text = note.to_json().to_string();
            // It is kept twice: a note is stored as it is answered.
            (view.keep)(2 * text.len() + FACT_BYTES)?;
            body.push_str(if changes.is_empty() { "" } else { "," });
            body.push_str(&text);
            changes.push(Change { kind: KIND, key: note.key(view)?, bytes: Some(text.into()) });
        }
    }
    body.push(']');
    Ok(Answer::written(body).changing(changes))
}

/// `DELETE /api/annotation/bulk`.
fn delete_all(
    request: &HttpRequest<'_>,
    params: &Params,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    let (start, end, tsuids, is_global) = match json::is_blank(request.body) {
        false => {
            let body = json::parse_object(request.body)?;
            let tsuids = json::texts(&body, "tsuids")?;
            let (start, end) = (json::text(&body, "startTime")?, json::text(&body, "endTime")?);
            (start, end, tsuids, json::flag(&body, "global")?)
        }
        true => {
            let text = |name| params.get(name).filter(|t| !t.is_empty()).map(str::to_owned);
            let list = text("tsuids").unwrap_or_default();
            let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
            let tsuids = words.map(str::to_owned).collect();
            (text("start_time"), text("end_time"), tsuids, params.has("global"))
        }
    };
    let start = start.ok_or_else(|| HttpError::bad_request("Missing the start time value"))?;
    if !is_global && tsuids.is_empty() {
        let message = "Missing the TSUIDs or global annotations flag";
        return Err(HttpError::bad_request(message));
    }
    let time = |text: &str| parse_time(text, &TimeZone::UTC, view.now_ms);
    let start_ms = time(&start)?;
    let end_ms = end.map_or(Ok(view.now_ms), |end| time(&end))?;
    if end_ms < start_ms {
        let message = "The end timestamp cannot be less than the start timestamp";
        return Err(HttpError::bad_request(message));
    }
    let wanted: Vec<String> = tsuids.iter().map(|tsuid| tsuid.to_uppercase()).collect();
    let is_wanted = |note: &Note| match note.tsuid.is_empty() {
        true => is_global,
        false => wanted.contains(&note.tsuid),
    };
    let notes = notes(view, start_ms, end_ms)?;
    let doomed: Vec<Note> = notes.into_iter().filter(is_wanted).collect();
    let changes: Vec<Change> =
        doomed.iter().map(|note| note.change(view, false)).collect::<Result<_, _>>()?;
    let body = serde_json::json!({
        "tsuids": if tsuids.is_empty() { Value::Null } else { tsuids.into() },
        "global": is_global,
        "startTime": start_ms,
        "endTime": end_ms,
        "totalDeleted": changes.len(),
    });
    Ok(Answer::ok(&body).changing(changes))
}
