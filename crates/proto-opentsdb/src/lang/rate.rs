//! Rates: `rate`, `rate{counter[,max[,reset]]}` and `rateOptions`.

use crate::http::HttpError;
use foliot_plan::Reset;
use serde_json::Value;

/// How rates are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateOptions {
    pub(crate) is_counter: bool,
    pub(crate) counter_max: i64,
    pub(crate) reset_value: i64,
    pub(crate) drops_resets: bool,
}

impl Default for RateOptions {
    fn default() -> Self {
        Self { is_counter: false, counter_max: i64::MAX, reset_value: 0, drops_resets: false }
    }
}

impl RateOptions {
    /// Reads what a GET query writes: `rate` with or without braces.
    pub(crate) fn parse(text: &str) -> Result<Self, HttpError> {
        let Some((_, braced)) = text.split_once('{') else { return Ok(Self::default()) };
        let Some(options) = braced.strip_suffix('}') else {
            let message = format!("Invalid rate options specification: {text}");
            return Err(HttpError::bad_request(message));
        };
        let parts: Vec<&str> = options.split(',').collect();
        let [kind, numbers @ ..] = &parts[..] else { return Ok(Self::default()) };
        if numbers.len() > 2 {
            let message = format!(
                "Incorrect number of values in rate options specification, must be \
                 counter[,counter max value,reset value], received: {} parts",
                parts.len()
            );
            return Err(HttpError::bad_request(message));
        }
        let number = |index: usize, what: &str, default| match numbers.get(index) {
            None | Some(&"") => Ok(default),
            Some(text) => text.parse::<i64>().map_err(|_| {
                let message = format!("{what} of counter was not a number, received '{text}'");
                HttpError::bad_request(message)
            }),
        };
        let counter_max = number(0, "Max value", i64::MAX)?;
        let reset_value = number(1, "Reset value", 0)?;
        Self {
            is_counter: kind.ends_with("counter"),
            counter_max,
            reset_value,
            drops_resets: *kind == "dropcounter",
        }
        .checked()
    }

    /// Reads `rateOptions` of a POST query; unknown names are refused, as in OpenTSDB.
    pub(crate) fn from_json(value: &Value) -> Result<Self, HttpError> {
        let error = |what: String| {
            HttpError::bad_request("Unable to parse the given JSON")
                .with_details(format!("rateOptions: {what}"))
        };
        let object = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(object) => object,
            _ => return Err(error("must be an object".to_owned())),
        };
        let mut options = Self::default();
        for (name, value) in object {
            let flag = || match value {
                Value::Null => Ok(false),
                Value::Bool(flag) => Ok(*flag),
                Value::String(text) if text == "true" || text == "false" => Ok(text == "true"),
                _ => Err(error(format!("{name} must be true or false"))),
            };
            let number = |default: i64| match value {
                Value::Null => Ok(default),
                Value::Number(number) => {
                    let whole = number.as_i64();
                    let cut = || number.as_f64().map(|number| number as i64);
                    whole.or_else(cut).ok_or_else(|| error(format!("{name} is too large")))
                }
                Value::String(text) => {
                    text.parse().map_err(|_| error(format!("{name} must be a number")))
                }
                _ => Err(error(format!("{name} must be a number"))),
            };
            match name.as_str() {
                "counter" => options.is_counter = flag()?,
                "dropResets" => options.drops_resets = flag()?,
                "counterMax" => options.counter_max = number(i64::MAX)?,
                "resetValue" => options.reset_value = number(0)?,
                _ => return Err(error(format!("unknown name '{name}'"))),
            }
        }
        options.checked()
    }

    fn checked(self) -> Result<Self, HttpError> {
        if self.counter_max < 1 {
            let message = "The counter's maximum must be greater than zero";
            return Err(HttpError::bad_request(message));
        }
        Ok(self)
    }

    /// What happens when values fall.
    pub(crate) fn reset(self) -> Reset {
        match (self.is_counter, self.drops_resets) {
            (false, _) => Reset::Gauge,
            (true, true) => Reset::Drop,
            (true, false) => {
                Reset::Wrap { max: self.counter_max, reset_above: self.reset_value as f64 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn braces_and_json_say_the_same() {
        let default = RateOptions::default();
        let counter = RateOptions { is_counter: true, ..default };
        for (text, json, expected) in [
            ("rate", json!({}), default),
            ("rate{counter}", json!({"counter": true}), counter),
            (
                "rate{counter,300,5}",
                json!({"counter": true, "counterMax": 300, "resetValue": 5}),
                RateOptions { counter_max: 300, reset_value: 5, ..counter },
            ),
            (
                "rate{counter,,5}",
                json!({"counter": "true", "resetValue": "5", "counterMax": null}),
                RateOptions { reset_value: 5, ..counter },
            ),
            (
                "rate{dropcounter}",
                json!({"counter": true, "dropResets": true}),
                RateOptions { drops_resets: true, ..counter },
            ),
        ] {
            assert_eq!(RateOptions::parse(text), Ok(expected), "{text}");
            assert_eq!(RateOptions::from_json(&json), Ok(expected), "{json}");
        }
        for text in ["rate{counter", "rate{counter,x}", "rate{counter,1,2,3}", "rate{counter,0}"] {
            assert!(RateOptions::parse(text).is_err(), "{text}");
        }
        assert!(RateOptions::from_json(&json!({"countermax": 1})).is_err());
    }
}
