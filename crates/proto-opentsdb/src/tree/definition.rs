//! What people say about a tree: its name, how strict it is, and its rules.

use crate::http::HttpError;
use crate::json;
use crate::view::View;
use foliot_model::Pattern;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    pub(super) id: u32,
    pub(super) name: String,
    description: String,
    notes: String,
    /// Whether a series must be taken on every level.
    pub(super) is_strict: bool,
    pub(super) is_enabled: bool,
    pub(super) stores_failures: bool,
    created: i64,
    /// By level and order.
    pub(super) rules: BTreeMap<(u32, u32), Rule>,
}

impl Tree {
    /// Parameters, and the names that bodies have for them.
    pub(super) const PARAMETERS: [(&'static str, &'static str); 7] = [
        ("name", "name"),
        ("description", "description"),
        ("notes", "notes"),
        ("strict_match", "strictMatch"),
        ("enabled", "enabled"),
        ("store_failures", "storeFailures"),
        ("definition", "definition"),
    ];

    /// A tree of which nothing is said yet.
    pub(super) fn new(id: u32, view: &View<'_>) -> Self {
        Self {
            id,
            name: String::new(),
            description: String::new(),
            notes: String::new(),
            is_strict: false,
            is_enabled: false,
            stores_failures: false,
            created: view.now_ms / 1000,
            rules: BTreeMap::new(),
        }
    }

    /// Reads a stored tree.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let empty = Self {
            id: u32::try_from(json::integer(&value, "treeId").ok()??).ok()?,
            name: String::new(),
            description: String::new(),
            notes: String::new(),
            is_strict: false,
            is_enabled: false,
            stores_failures: false,
            created: json::integer(&value, "created").ok()?.unwrap_or(0),
            rules: BTreeMap::new(),
        };
        let mut tree = empty.merged(&value, true).ok()?;
        for (level, orders) in value.get("rules").and_then(Value::as_object).into_iter().flatten() {
            for (order, rule) in orders.as_object().into_iter().flatten() {
                let place = (level.parse().ok()?, order.parse().ok()?);
                tree.rules.insert(place, Rule::default().merged(rule, true).ok()?);
            }
        }
        Some(tree)
    }

    /// This with what is said; with nothing but that when it `replaces`.
    pub(super) fn merged(mut self, said: &Value, replaces: bool) -> Result<Self, HttpError> {
        for (name, field) in [
            ("name", &mut self.name),
            ("description", &mut self.description),
            ("notes", &mut self.notes),
        ] {
            merge_text(field, said, name, replaces)?;
        }
        for (name, field) in [
            ("strictMatch", &mut self.is_strict),
            ("enabled", &mut self.is_enabled),
            ("storeFailures", &mut self.stores_failures),
        ] {
            match said.get(name) {
                None | Some(Value::Null) => *field &= !replaces,
                Some(_) => *field = json::flag(said, name)?,
            }
        }
        Ok(self)
    }

    /// Whether anything is said that a new tree is not already.
    pub(super) fn is_told(said: &Value) -> Result<bool, HttpError> {
        for name in ["name", "description", "notes"] {
            if json::text(said, name)?.is_some() {
                return Ok(true);
            }
        }
        let flags = ["strictMatch", "enabled", "storeFailures"];
        Ok(flags.iter().any(|name| said.get(name).is_some_and(|flag| !flag.is_null())))
    }

    /// As answers show it, and as it is stored.
    pub(super) fn to_json(&self) -> Value {
        let mut rules: Map<String, Value> = Map::new();
        for (&place, rule) in &self.rules {
            let level = rules.entry(place.0.to_string()).or_insert_with(|| json!({}));
            if let Some(level) = level.as_object_mut() {
                level.insert(place.1.to_string(), rule.to_json(self.id, place));
            }
        }
        json!({
            "treeId": self.id,
            "name": self.name,
            "description": self.description,
            "notes": self.notes,
            "strictMatch": self.is_strict,
            "enabled": self.is_enabled,
            "storeFailures": self.stores_failures,
            "created": self.created,
            "rules": if rules.is_empty() { Value::Null } else { Value::Object(rules) },
        })
    }
}

fn merge_text(
    field: &mut String,
    said: &Value,
    name: &str,
    replaces: bool,
) -> Result<(), HttpError> {
    match json::text(said, name)? {
        Some(text) => *field = text,
        None if replaces => field.clear(),
        None => {}
    }
    Ok(())
}

/// What part of a series a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleKind {
    Metric,
    MetricCustom,
    TagKey,
    TagKeyCustom,
    TagValueCustom,
}

impl RuleKind {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Metric, "METRIC"),
        (Self::MetricCustom, "METRIC_CUSTOM"),
        (Self::TagKey, "TAGK"),
        (Self::TagKeyCustom, "TAGK_CUSTOM"),
        (Self::TagValueCustom, "TAGV_CUSTOM"),
    ];

    fn named(name: &str) -> Result<Self, HttpError> {
        let found = Self::ALL.iter().find(|(_, word)| word.eq_ignore_ascii_case(name));
        found
            .map(|(kind, _)| *kind)
            .ok_or_else(|| HttpError::bad_request("Unable to parse the 'type' parameter"))
    }

    pub(super) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| *word)
    }
}

/// A rule: takes a part of a series' names, and makes a branch's name of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rule {
    pub(super) kind: Option<RuleKind>,
    pub(super) field: String,
    pub(super) custom_field: String,
    pub(super) regex: String,
    pub(super) separator: String,
    pub(super) display_format: String,
    pub(super) group: i64,
    description: String,
    notes: String,
}

impl Rule {
    /// Parameters, and the names that bodies have for them.
    pub(super) const PARAMETERS: [(&'static str, &'static str); 11] = [
        ("type", "type"),
        ("field", "field"),
        ("custom_field", "customField"),
        ("regex", "regex"),
        ("separator", "separator"),
        ("description", "description"),
        ("notes", "notes"),
        ("regex_group_idx", "regexGroupIdx"),
        ("display_format", "displayFormat"),
        ("level", "level"),
        ("order", "order"),
    ];

    /// This with what is said; with nothing but that when it `replaces`.
    pub(super) fn merged(mut self, said: &Value, replaces: bool) -> Result<Self, HttpError> {
        match json::text(said, "type")? {
            Some(kind) => self.kind = Some(RuleKind::named(&kind)?),
            None if replaces => self.kind = None,
            None => {}
        }
        for (name, field) in [
            ("field", &mut self.field),
            ("customField", &mut self.custom_field),
            ("regex", &mut self.regex),
            ("separator", &mut self.separator),
            ("displayFormat", &mut self.display_format),
            ("description", &mut self.description),
            ("notes", &mut self.notes),
        ] {
            merge_text(field, said, name, replaces)?;
        }
        match json::integer(said, "regexGroupIdx")? {
            Some(group) if group != 0 => self.group = group,
            _ if replaces => self.group = 0,
            _ => {}
        }
        Ok(self)
    }

    /// Refuses a rule that cannot work.
    pub(super) fn check(&self) -> Result<(), HttpError> {
        let kind = self.kind.ok_or_else(|| HttpError::bad_request("Missing rule type"))?;
        let error = |what: &str| {
            let message = format!("Missing {what} required for {} rule", kind.word());
            Err(HttpError::bad_request(message))
        };
        if kind != RuleKind::Metric && self.field.is_empty() {
            return error("field name");
        }
        let is_custom = !matches!(kind, RuleKind::Metric | RuleKind::TagKey);
        if is_custom && self.custom_field.is_empty() {
            return error("custom field name");
        }
        if self.group < 0 {
            let message = "Invalid regex group index. Cannot be less than 0";
            return Err(HttpError::bad_request(message));
        }
        for pattern in [&self.regex, &self.separator] {
            Pattern::of_java(pattern)
                .and_then(Pattern::for_groups)
                .map_err(|error| HttpError::bad_request(error.to_string()))?;
        }
        Ok(())
    }

    /// As answers show it, and as it is stored.
    pub(super) fn to_json(&self, tree_id: u32, place: (u32, u32)) -> Value {
        json!({
            "type": self.kind.map(RuleKind::word),
            "field": self.field,
            "customField": self.custom_field,
            "regex": self.regex,
            "separator": self.separator,
            "description": self.description,
            "notes": self.notes,
            "level": place.0,
            "order": place.1,
            "treeId": tree_id,
            "displayFormat": self.display_format,
            "regexGroupIdx": self.group,
        })
    }
}
