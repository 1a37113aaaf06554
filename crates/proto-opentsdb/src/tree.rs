//! `/api/tree`: series arranged as branches and leaves, by rules about their names.
//!
//! A tree with its rules is one fact of the catalog, of kind `tree` under `<namespace>/<id>`, as
//! its JSON. Branches are not stored: they are worked out from the index when they are asked for,
//! so they show what is stored now, also what was stored before the tree was made.
//!
//! Differs from OpenTSDB on purpose: deleting a tree without its definition changes nothing, as
//! there are no branches to delete; PUT and DELETE are taken as such, not only as an override.

mod branch;
mod builder;
mod definition;

use crate::http::{HttpError, HttpRequest, Params, method, missing_parameter, not_allowed};
use crate::json;
use crate::lang::Tsuid;
use crate::uid::meta_of;
use crate::view::{Answer, Change, View, any_series};
use branch::{Branch, parse_branch_id};
use builder::{Climber, Outcome};
use definition::{Rule, Tree};
use serde_json::{Map, Value, json};

/// The kind of these facts.
const KIND: &str = "tree";

/// Most series that one request arranges. A tree of more is asked for by its TSUIDs.
const SERIES_MAX: usize = 1_000_000;

/// Trees that a namespace may have.
const TREES_MAX: u32 = 65_535;

/// Answers a request.
///
/// # Errors
/// 400 for what does not parse, 404 for what is not there.
pub(crate) fn answer(
    request: &HttpRequest<'_>,
    tail: &str,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    let ask = Ask {
        params: Params::parse(request.query),
        method: method(request),
        body: match json::is_blank(request.body) {
            true => None,
            false => Some(json::parse(request.body)?),
        },
        view,
    };
    match tail {
        "" => ask.tree(),
        "branch" => ask.branch(),
        "rule" => ask.rule(),
        "rules" => ask.rules(),
        "test" => ask.test(),
        "collisions" => ask.misfits(true),
        "notmatched" => ask.misfits(false),
        _ => Err(HttpError::new(404, "This endpoint is not supported")),
    }
}

/// A request with what it says taken apart.
struct Ask<'a> {
    params: Params,
    method: String,
    body: Option<Value>,
    view: &'a View<'a>,
}

/// The tree that a body names; 0 when it names none.
fn id_of(body: &Value) -> Result<u32, HttpError> {
    let id = json::integer(body, "treeId")?.unwrap_or(0);
    u32::try_from(id).map_err(|_| HttpError::bad_request("Invalid Tree ID"))
}

/// A level, or an order within it.
fn place_of(name: &str, number: Option<i64>) -> Result<u32, HttpError> {
    u32::try_from(number.unwrap_or(0))
        .map_err(|_| HttpError::bad_request(format!("Negative {name}s are not allowed")))
}

fn unsupported() -> HttpError {
    HttpError::bad_request("Unsupported HTTP request method")
}

impl Ask<'_> {
    /// The tree that is meant; 0 when none is named.
    fn tree_id(&self, is_required: bool) -> Result<u32, HttpError> {
        if let Some(body) = self.body.as_ref().filter(|body| body.is_object()) {
            return id_of(body);
        }
        match self.params.get("treeid") {
            None if is_required => Err(missing_parameter("treeid")),
            None => Ok(0),
            Some(text) => {
                text.parse().map_err(|_| HttpError::bad_request("Unable to parse 'tree' value"))
            }
        }
    }

    /// The tree that a request about TSUIDs names.
    fn tree_named(&self) -> Result<u32, HttpError> {
        match &self.body {
            Some(body) if json::integer(body, "treeId")?.is_none() => {
                Err(HttpError::bad_request("Missing or invalid Tree ID"))
            }
            _ => self.tree_id(true),
        }
    }

    fn key(&self, id: u32) -> String {
        self.view.key(&format!("{id:05}"))
    }

    fn load(&self, id: u32) -> Result<Tree, HttpError> {
        if !(1..=TREES_MAX).contains(&id) {
            return Err(HttpError::bad_request("Invalid Tree ID"));
        }
        let bytes = (self.view.fact)(KIND, &self.key(id))?;
        bytes
            .and_then(|bytes| Tree::from_bytes(&bytes))
            .ok_or_else(|| HttpError::new(404, format!("Unable to locate tree: {id}")))
    }

    fn all(&self) -> Result<Vec<Tree>, HttpError> {
        let facts = (self.view.facts)(KIND, &self.view.key(""))?;
        Ok(facts.iter().filter_map(|(_, bytes)| Tree::from_bytes(bytes)).collect())
    }

    fn keep(&self, tree: &Tree) -> Vec<Change> {
        let bytes = Some(tree.to_json().to_string().into_bytes());
        vec![Change { kind: KIND, key: self.key(tree.id), bytes }]
    }

    /// What the request says about the tree or rule: its body, or its parameters with the names
    /// that the body would have.
    fn said(&self, names: &[(&str, &str)]) -> Value {
        match &self.body {
            Some(body) => body.clone(),
            None => {
                let said = names.iter().filter_map(|(param, name)| {
                    Some(((*name).to_owned(), self.params.get(param)?.into()))
                });
                Value::Object(said.collect::<Map<_, _>>())
            }
        }
    }

    fn tree(&self) -> Result<Answer, HttpError> {
        let id = self.tree_id(false)?;
        let said = self.said(&Tree::PARAMETERS);
        match self.method.as_str() {
            "GET" if id == 0 => Ok(Answer::ok(&self.all()?.iter().map(Tree::to_json).collect())),
            "GET" => Ok(Answer::ok(&self.load(id)?.to_json())),
            "POST" | "PUT" => {
                let stored = match id {
                    0 => self.create(&said)?,
                    id => self.load(id)?,
                };
                if !Tree::is_told(&said)? {
                    return Ok(Answer::empty(304));
                }
                let tree = stored.merged(&said, self.method == "PUT")?;
                Ok(Answer::ok(&tree.to_json()).changing(self.keep(&tree)))
            }
            "DELETE" => {
                self.load(id)?;
                let all = json::text(&said, "definition")?;
                let all = all.or_else(|| self.params.get("definition").map(str::to_owned));
                let changes = match all.is_some_and(|all| all.eq_ignore_ascii_case("true")) {
                    true => vec![Change { kind: KIND, key: self.key(id), bytes: None }],
                    false => Vec::new(),
                };
                Ok(Answer::empty(204).changing(changes))
            }
            _ => Err(unsupported()),
        }
    }

    /// A tree with the next number.
    fn create(&self, said: &Value) -> Result<Tree, HttpError> {
        if json::text(said, "name")?.is_none() {
            return Err(HttpError::bad_request("Tree was missing the name"));
        }
        match self.all()?.last().map_or(1, |tree| tree.id + 1) {
            id if id > TREES_MAX => Err(HttpError::bad_request("Exhausted all Tree IDs")),
            id => Ok(Tree::new(id, self.view)),
        }
    }

    fn branch(&self) -> Result<Answer, HttpError> {
        if !matches!(self.method.as_str(), "GET" | "POST") {
            return Err(not_allowed(&self.method));
        }
        let hex = self.params.get("branch").filter(|hex| !hex.is_empty());
        let (id, hashes) = match hex {
            Some(hex) => parse_branch_id(hex)?,
            None => match self.tree_id(false)? {
                0 => return Err(HttpError::bad_request("Missing or invalid branch and tree IDs")),
                id => (id, Vec::new()),
            },
        };
        let shown = hex.map_or_else(|| format!("{id:04X}"), str::to_uppercase);
        let missing =
            || HttpError::new(404, format!("Unable to locate branch '{shown}' for tree '{id}'"));
        let tree = self.load(id).map_err(|_| missing())?;
        let (root, _) = self.grow(&tree)?;
        let mut at = root.as_ref().filter(|_| tree.is_enabled).ok_or_else(missing)?;
        for hash in hashes {
            at = at.child(hash).ok_or_else(missing)?;
        }
        Ok(Answer::ok(&at.to_json(true)))
    }

    /// Arranges all series of the namespace; nothing when no series has a place.
    fn grow(&self, tree: &Tree) -> Result<(Option<Branch>, Misfits), HttpError> {
        let sids = (self.view.select)(&any_series(self.view.namespace))?;
        if sids.len() > SERIES_MAX {
            let message = format!("A tree is worked out for up to {SERIES_MAX} series");
            return Err(HttpError::new(413, message));
        }
        let mut root = Branch::root(tree.id);
        let mut misfits = Misfits::default();
        let climber = Climber::new(tree)?;
        for sid in sids {
            let Some(stored) = (self.view.stored)(sid)? else { continue };
            let meta = meta_of(&stored.tsuid, self.view)?;
            match climber.climb(&meta).outcome {
                Outcome::Placed(path) => {
                    if let Some(other) = root.place(&path, &stored) {
                        misfits.collisions.insert(meta.tsuid, other.into());
                    }
                }
                Outcome::NotMatched(rules) => {
                    misfits.not_matched.insert(meta.tsuid, rules.into());
                }
            }
        }
        Ok(((!root.is_empty()).then_some(root), misfits))
    }

    fn rule(&self) -> Result<Answer, HttpError> {
        let said = self.said(&Rule::PARAMETERS);
        let mut tree = self.load(self.tree_id(true)?)?;
        let place = |name: &str| -> Result<u32, HttpError> {
            if self.body.is_none() && self.params.get(name).is_none() {
                return Err(missing_parameter(name));
            }
            let number = json::integer(&said, name).map_err(|_| {
                HttpError::bad_request(format!("Unable to parse the '{name}' parameter"))
            })?;
            place_of(name, number)
        };
        let place = (place("level")?, place("order")?);
        let missing = |tree: &Tree| {
            let name = format!("[{}:{}:{}:null]", tree.id, place.0, place.1);
            HttpError::new(404, format!("Unable to locate rule: {name}"))
        };
        match self.method.as_str() {
            "GET" => {
                let rule = tree.rules.get(&place).ok_or_else(|| missing(&tree))?;
                Ok(Answer::ok(&rule.to_json(tree.id, place)))
            }
            "POST" | "PUT" => {
                let stored = tree.rules.get(&place).cloned();
                let replaces = self.method == "PUT";
                let rule = stored.clone().unwrap_or_default().merged(&said, replaces)?;
                let is_same = stored.as_ref() == Some(&rule) && !replaces;
                if is_same || (rule == Rule::default() && place == (0, 0)) {
                    return Ok(Answer::empty(304));
                }
                rule.check()?;
                let body = rule.to_json(tree.id, place);
                tree.rules.insert(place, rule);
                Ok(Answer::ok(&body).changing(self.keep(&tree)))
            }
            "DELETE" => {
                tree.rules.remove(&place).ok_or_else(|| missing(&tree))?;
                Ok(Answer::empty(204).changing(self.keep(&tree)))
            }
            _ => Err(unsupported()),
        }
    }

    fn rules(&self) -> Result<Answer, HttpError> {
        let rules: &[Value] = match &self.body {
            Some(Value::Array(rules)) if !rules.is_empty() => rules,
            Some(_) => return Err(HttpError::bad_request("Missing tree rules")),
            None => &[],
        };
        let id = match rules.first() {
            None => self.tree_id(false)?,
            Some(rule) => {
                let id = id_of(rule)?;
                for other in rules {
                    if id_of(other)? != id {
                        let message = "All rules must belong to the same tree";
                        return Err(HttpError::bad_request(message));
                    }
                }
                id
            }
        };
        let mut tree = self.load(id)?;
        match self.method.as_str() {
            "POST" | "PUT" if rules.is_empty() => {
                return Err(HttpError::bad_request("Missing tree rules"));
            }
            "POST" | "PUT" => {
                if self.method == "PUT" {
                    tree.rules.clear();
                }
                for said in rules {
                    let part = |name| place_of(name, json::integer(said, name)?);
                    let place = (part("level")?, part("order")?);
                    let stored = tree.rules.remove(&place).unwrap_or_default();
                    let rule = stored.merged(said, self.method == "PUT")?;
                    rule.check()?;
                    tree.rules.insert(place, rule);
                }
            }
            "DELETE" => tree.rules.clear(),
            _ => return Err(unsupported()),
        }
        Ok(Answer::empty(204).changing(self.keep(&tree)))
    }

    /// The TSUIDs that the request names; nothing when it names none.
    fn tsuids(&self) -> Result<Option<Vec<String>>, HttpError> {
        let list = match &self.body {
            Some(body) => json::texts(body, "tsuids")?,
            None => {
                let text = self.params.get("tsuids").unwrap_or_default();
                let words = text.split(',').filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            }
        };
        Ok(Some(list).filter(|list| !list.is_empty()))
    }

    fn test(&self) -> Result<Answer, HttpError> {
        let tree = self.load(self.tree_named()?)?;
        let tsuids = self.tsuids()?;
        let tsuids = tsuids.ok_or_else(|| HttpError::bad_request("Missing or empty TSUID list"))?;
        if self.method == "DELETE" {
            return Err(unsupported());
        }
        let mut results = Map::new();
        let climber = Climber::new(&tree)?;
        for text in tsuids {
            let tsuid = Tsuid::parse(&text)?;
            let sids = (self.view.resolve)(&tsuid)?;
            let stored = match sids.first() {
                Some(&sid) => (self.view.stored)(sid)?,
                None => None,
            };
            let Some(stored) = stored else {
                let messages = ["Unable to locate TSUID meta data"];
                let result = json!({"branch": null, "meta": null, "messages": messages});
                results.insert(text, result);
                continue;
            };
            let meta = meta_of(&tsuid, self.view)?;
            let climbed = climber.climb(&meta);
            let mut root = Branch::root(tree.id);
            if let Outcome::Placed(path) = &climbed.outcome {
                root.place(path, &stored);
            }
            let result = json!({
                "branch": root.to_deep_json(),
                "meta": meta.to_json(),
                "messages": climbed.messages,
            });
            results.insert(text, result);
        }
        Ok(Answer::ok(&Value::Object(results)))
    }

    /// Series that share a leaf's name with another one, or that no rule takes.
    fn misfits(&self, wants_collisions: bool) -> Result<Answer, HttpError> {
        let tree = self.load(self.tree_named()?)?;
        if self.method == "DELETE" {
            return Err(unsupported());
        }
        let mut found = Map::new();
        if tree.is_enabled && tree.stores_failures {
            let (_, misfits) = self.grow(&tree)?;
            found = if wants_collisions { misfits.collisions } else { misfits.not_matched };
        }
        if let Some(tsuids) = self.tsuids()? {
            found.retain(|tsuid, _| tsuids.iter().any(|one| one.eq_ignore_ascii_case(tsuid)));
        }
        Ok(Answer::ok(&Value::Object(found)))
    }
}

/// Series without a place of their own.
#[derive(Default)]
struct Misfits {
    /// TSUIDs, and whose place they wanted.
    collisions: Map<String, Value>,
    /// TSUIDs, and the rules that did not take them.
    not_matched: Map<String, Value>,
}
