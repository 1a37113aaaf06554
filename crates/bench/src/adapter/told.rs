//! What servers tell of themselves. What one does not tell is not guessed.

use crate::http::Client;

/// Letters between the word before a version and the version itself, at the most.
const GAP_MAX: usize = 40;

/// The version that follows a word on a page.
pub(super) fn version(address: &str, path: &str, word: &str) -> Option<String> {
    let reply = Client::new(address).get(path).ok().filter(|reply| reply.is_success())?;
    after(&String::from_utf8_lossy(&reply.body), word)
}

/// The first number with points that follows a word; none where an empty text does.
pub(super) fn after(text: &str, word: &str) -> Option<String> {
    let rest = text.get(text.find(word)? + word.len()..)?;
    let begin = rest.find(|letter: char| letter.is_ascii_digit()).filter(|at| *at <= GAP_MAX)?;
    if rest.get(..begin)?.contains("\"\"") {
        return None;
    }
    let rest = rest.get(begin..)?;
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
    let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    rest.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_servers_say() {
        let json = r#"{"short_revision":"","version":"2.4.1","host":"x"}"#;
        assert_eq!(after(json, "\"version\"").unwrap(), "2.4.1");
        let metrics =
            "vm_app_version{version=\"victoria-metrics-20220711\", short_version=\"v1.79.5\"} 1";
        assert_eq!(after(metrics, "short_version=").unwrap(), "1.79.5");
        let row = "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64";
        assert_eq!(after(row, "PostgreSQL").unwrap(), "15.18");
        assert_eq!(after("Build Information: QuestDB 9.0.1, JDK 17", "QuestDB").unwrap(), "9.0.1");
        assert_eq!(after("{}", "version"), None);
        // As Debian's VictoriaMetrics says it; the number is that of the metric.
        let untold = "vm_app_version{version=\"\", short_version=\"\"} 1";
        assert_eq!(after(untold, "short_version="), None);
    }
}
