//! Dialects: questions to requests and replies to answers. A language that several servers speak
//! has a file here, one that a single server speaks stands in the file of its adapter. A question
//! that a language cannot ask in the same sense is not asked at all; the report then says n/a.

use serde::{Serialize, Serializer};

use crate::catalogue::Kind;
use crate::disorder::Disorder;
use crate::fleet::Fleet;
use crate::http::{Client, Reply};
use crate::oracle::Oracle;
use crate::postgres::Session;
use crate::profile::Table;
use crate::question::{Answer, Ask, Bins, Function, Question, Sources, Trucks, compare};
use crate::random::{Draws, Purpose};

pub(crate) mod influxql;
pub(crate) mod opentsdb;
pub(crate) mod promql;
pub(crate) mod sql;

/// A query language.
pub(crate) struct Language {
    /// As `--ask` writes it.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) over: Over,
    /// Whether several measurements are answered as one.
    pub(crate) is_whole: bool,
    /// The requests of a question; none when the language cannot ask it.
    pub(crate) requests: fn(&Fleet, &Question) -> Option<Vec<Request>>,
    /// Adds what one reply says to the answer; none where its shape is unknown.
    pub(crate) read: fn(&Fleet, &Question, &Request, &[u8], &mut Answer) -> Option<()>,
    /// Whether a reply that is no success says that there is nothing.
    pub(crate) is_nothing: fn(&Reply) -> bool,
    /// How far off a number may come back, as a share of it, or of one where it is smaller: what
    /// the server's makers let it lose. 0 where numbers come back as they went in.
    pub(crate) rounding: f64,
}

/// What requests travel over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    Http,
    /// PostgreSQL's wire protocol
    Postgres,
}

impl std::fmt::Debug for Language {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Database that everything is written to where a protocol wants a name.
pub(crate) const DATABASE: &str = "default";

/// Steps of the load that questions are drawn from to see whether they can be asked.
const STEPS_TRIED: u64 = 1000;

/// One request of a question: HTTP, or a statement where the path is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) path: String,
    /// Body of a POST; none = a GET.
    pub(crate) body: Option<String>,
    /// The field that the reply is about, where the reply does not say.
    pub(crate) field: usize,
    /// The time that the reply's times are counted from, where they are shifted.
    pub(crate) shift_ms: i64,
}

impl Language {
    /// The requests of a question; none when the language cannot ask it.
    pub(crate) fn requests(&self, fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
        if self.asks_in_parts(fleet, question) && parts(&question.ask).is_none() {
            return None;
        }
        (self.requests)(fleet, question)
    }

    /// Whether the language can ask questions of a kind.
    pub(crate) fn can_ask(&self, fleet: &Fleet, kind: Kind) -> bool {
        let oracle = Oracle {
            fleet,
            disorder: Disorder::default(),
            first_source: 0,
            end_source: fleet.shape.sources,
            first_step: 0,
            end_step: STEPS_TRIED,
        };
        let mut draws = Draws::at(fleet.shape.seed, Purpose::Questions, u64::MAX, kind.number());
        self.requests(fleet, &kind.question(&oracle, &mut draws)).is_some()
    }

    /// Makes an answer of the replies to the requests, in their order; an empty reply says that
    /// there is nothing.
    pub(crate) fn answer<'r>(
        &self,
        fleet: &Fleet,
        question: &Question,
        replies: impl Iterator<Item = (&'r Request, &'r [u8])>,
    ) -> Result<Answer, String> {
        let mut answer = Answer::default();
        for (request, reply) in replies.filter(|(_, reply)| !reply.is_empty()) {
            let shape = || {
                let text: String = String::from_utf8_lossy(reply).chars().take(300).collect();
                format!("the reply has an unknown shape: {text}")
            };
            (self.read)(fleet, question, request, reply, &mut answer).ok_or_else(shape)?;
        }
        if self.asks_in_parts(fleet, question)
            && let Some(function) = parts(&question.ask).flatten()
        {
            answer.fold(function);
        }
        Ok(answer)
    }

    /// Judges an answer; the error names the first difference.
    pub(crate) fn judge(
        &self,
        expected: &Answer,
        got: &Answer,
        question: &Question,
    ) -> Result<(), String> {
        compare(expected, got, &question.ask, self.rounding)
    }

    /// Whether several measurements are answered one by one.
    fn asks_in_parts(&self, fleet: &Fleet, question: &Question) -> bool {
        let table = fleet.tables.get(question.table);
        let several = table.is_some_and(|t| measurements(fleet, t, &question.sources).len() > 1);
        several && !self.is_whole
    }

    /// Asks a question and reads the whole answer.
    pub(crate) fn ask(
        &self,
        fleet: &Fleet,
        asker: &mut Asker,
        question: &Question,
        requests: &[Request],
    ) -> Result<Answer, String> {
        let mut replies = Vec::with_capacity(requests.len());
        for request in requests {
            let reply = asker.send(request)?;
            match (self.is_nothing)(&reply) {
                true => replies.push(Vec::new()),
                false if !reply.is_success() => return Err(reply.summary()),
                false => replies.push(reply.body),
            }
        }
        self.answer(fleet, question, requests.iter().zip(replies.iter().map(Vec::as_slice)))
    }
}

/// Of languages that never refuse where there is nothing.
pub(crate) fn never(_reply: &Reply) -> bool {
    false
}

/// A reply as JSON; none where it is not.
pub(crate) fn json(reply: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(reply).ok()
}

/// How answers that come measurement by measurement add up: none when they cannot, and no
/// function when they need not, because the series stay apart.
fn parts(ask: &Ask) -> Option<Option<Function>> {
    match *ask {
        Ask::Newest { .. } | Ask::Aggregate { function: Function::Mean, per_series: false, .. } => {
            None
        }
        Ask::Aggregate { function, per_series: false, .. } => Some(Some(function)),
        _ => Some(None),
    }
}

/// A connection to ask over.
pub(crate) enum Asker {
    Http(Client),
    /// Opened with the first question, and again after an error.
    Postgres(String, Option<Box<Session>>),
}

impl Asker {
    /// A connection in this language to `address`.
    pub(crate) fn new(language: &Language, address: &str) -> Asker {
        match language.over {
            Over::Postgres => Asker::Postgres(address.to_owned(), None),
            Over::Http => Asker::Http(Client::new(address)),
        }
    }

    /// Sends one request and reads its reply.
    pub(crate) fn send(&mut self, request: &Request) -> Result<Reply, String> {
        let body = request.body.as_deref();
        let reply = match (self, body) {
            (Asker::Http(client), None) => client.get(&request.path),
            (Asker::Http(client), Some(body)) => {
                let headers = "Content-Type: application/json\r\n";
                client.send("POST", &request.path, headers, body.as_bytes())
            }
            (Asker::Postgres(address, session), body) => {
                let open = match session.take() {
                    Some(open) => Ok(open),
                    None => Session::open(address).map(Box::new),
                };
                open.and_then(|mut open| {
                    let rows = open.run(body.unwrap_or_default())?;
                    *session = Some(open);
                    Ok(Reply { status: 200, body: rows, server_version: None })
                })
            }
        };
        reply.map_err(|error| error.to_string())
    }
}

/// Measurement names of the sources in question, where a table is spread over several.
pub(crate) fn measurements(fleet: &Fleet, table: &Table, sources: &Sources) -> Vec<String> {
    if table.groups == 0 {
        return vec![table.name.to_owned()];
    }
    let mut groups: Vec<u64> = match sources {
        Sources::All | Sources::Labelled(..) => {
            (0..table.groups.min(fleet.shape.sources)).collect()
        }
        Sources::These(sources) => sources.iter().map(|source| source % table.groups).collect(),
    };
    groups.sort_unstable();
    groups.dedup();
    groups.into_iter().map(|group| format!("{}{group}", table.name)).collect()
}

/// How many names a question has to carry.
pub(crate) fn names_of(fleet: &Fleet, question: &Question) -> usize {
    names(fleet, question).map_or(0, |(_, names)| names.len())
}

/// The label that tells the sources in question from others, with its values; none for all
/// sources.
///
/// A source that changes its name is asked for by every name it has in the window.
pub(crate) fn names(fleet: &Fleet, question: &Question) -> Option<(&'static str, Vec<String>)> {
    let sources = match &question.sources {
        Sources::All => return None,
        Sources::Labelled(key, value) => return Some((key, vec![(*value).to_owned()])),
        Sources::These(sources) => sources,
    };
    let label = fleet.tables.get(question.table)?.source_label;
    let mut labels = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let shape = &fleet.shape;
    let step = |time_ms: i64| ((time_ms - shape.start_ms).max(0) / shape.interval_ms) as u64;
    // The newest sample may be from before the window.
    let first = if question.ask.is_last() { 0 } else { step(question.from_ms) };
    for source in sources {
        let last = step(question.to_ms);
        let steps = if fleet.has_fixed_labels() { last..last + 1 } else { first..last + 1 };
        for step in steps {
            fleet.labels(*source, step, question.table, &mut labels);
            let name = crate::oracle::source_name(&labels, label);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
    }
    Some((label, names))
}

/// The labels whose values key the answer: one number or series for each combination.
fn key_labels(fleet: &Fleet, question: &Question) -> Vec<&'static str> {
    let source = fleet.tables.get(question.table).map(|table| table.source_label);
    match question.ask {
        Ask::Aggregate { per_series: false, .. } | Ask::Newest { .. } => Vec::new(),
        Ask::Trucks(Trucks::Mean { by, .. } | Trucks::Bins(Bins { by, .. })) => by.to_vec(),
        _ => source.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
