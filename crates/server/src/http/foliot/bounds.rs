//! `$start`, `$end`, `$step` and `$range` of a question's text. What only looks like one of them,
//! in a name or in a string, stays as it is. InfluxQL's parser knows them itself.

/// OpenTSDB's text, with a step where a window stands: between the aggregator and the metric.
pub(super) fn in_opentsdb(text: &str, step: &str) -> String {
    let parts: Vec<&str> = text.split(':').collect();
    // What is last is the metric, and braces are behind it.
    let last = parts.iter().position(|part| part.contains('{') && !part.starts_with("rate{"));
    let last = last.unwrap_or(parts.len().saturating_sub(1));
    let put = |(at, part): (usize, &&str)| match part.strip_prefix("$step-") {
        Some(rest) if at < last => format!("{step}-{rest}"),
        _ => (*part).to_owned(),
    };
    parts.iter().enumerate().map(put).collect::<Vec<_>>().join(":")
}

/// Where a place of a text of OpenTSDB was before a step was put in: it stands `rest` bytes before
/// the end of what that became.
pub(super) fn before_opentsdb(text: &str, put: &str, rest: usize) -> usize {
    let behind = put.get(put.len().saturating_sub(rest)..).unwrap_or_default();
    // A place before the last part is where a part begins; of the last one nothing changed.
    match behind.matches(':').count() {
        0 => text.len().saturating_sub(rest),
        parts => text.rmatch_indices(':').nth(parts).map_or(0, |(at, _)| at + 1),
    }
}

/// PromQL's text, with what `value` says of a name, wherever that is code.
pub(super) fn in_promql(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' | '`' => string_length(rest, first),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '$' => 1 + word_length(rest.get(1..).unwrap_or_default()),
            _ => first.len_utf8(),
        };
        let (word, others) = rest.split_at(length);
        let name = word.strip_prefix('$');
        match name.and_then(&value) {
            Some(value) => out.push_str(&value),
            None => out.push_str(word),
        }
        rest = others;
    }
    out
}

/// How long the string is with which a text begins, with its quotes.
fn string_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if quote != '`' => is_escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn word_length(text: &str) -> usize {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.find(|letter: char| !is_word(letter)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_put_where_a_window_stands() {
        for (text, put) in [
            ("sum:$step-avg:cpu", "sum:9s-avg:cpu"),
            (
                "sum:$step-avg-zero:rate{counter,1,2}:cpu{h=*}",
                "sum:9s-avg-zero:rate{counter,1,2}:cpu{h=*}",
            ),
            ("sum:rate:$step-max:cpu{h=a:b}{$step-x=1}", "sum:rate:9s-max:cpu{h=a:b}{$step-x=1}"),
            ("sum:$step-avg:of$step", "sum:9s-avg:of$step"),
            ("sum:$step-avg:$step-avg", "sum:9s-avg:$step-avg"),
            ("sum:$step-avg{h=a:$step-b}", "sum:$step-avg{h=a:$step-b}"),
            ("sum:$stepper-avg:m", "sum:$stepper-avg:m"),
            ("$step-avg", "$step-avg"),
            ("", ""),
        ] {
            assert_eq!(in_opentsdb(text, "9s"), put);
        }
    }

    #[test]
    fn bounds_are_put_into_code_and_nowhere_else() {
        let put = |text: &str| in_promql(text, |name| (name == "step").then(|| "9s".to_owned()));
        for (text, is) in [
            ("rate(up[$step])", "rate(up[9s])"),
            ("{\"a$step\"}[$step]", "{\"a$step\"}[9s]"),
            ("up{a=\"\\\"$step\"} @ $step", "up{a=\"\\\"$step\"} @ 9s"),
            ("up{a='$step', b=`\\`} + $step", "up{a='$step', b=`\\`} + 9s"),
            ("up # $step\n[$step]", "up # $step\n[9s]"),
            ("up[$steps] $ $é \"$step", "up[$steps] $ $é \"$step"),
        ] {
            assert_eq!(put(text), is);
        }
    }
}
