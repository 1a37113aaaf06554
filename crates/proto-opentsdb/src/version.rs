//! What this build is, as `version` and `/api/version` tell it.

use serde_json::json;

/// Facts about the running program; the caller knows them.
#[derive(Clone, Debug, Default)]
pub struct BuildInfo {
    /// Name of the program.
    pub package: String,
    /// Released version.
    pub version: String,
    /// Revision of the sources, in full.
    pub revision: String,
    /// State of the sources when built (`MINT` or `MODIFIED`).
    pub status: String,
    /// When it was built, in seconds since 1970.
    pub built_s: i64,
    /// Who built it.
    pub user: String,
    /// Where it was built.
    pub host: String,
    /// Where the sources lay.
    pub repository: String,
    /// Branch of the sources.
    pub branch: String,
}

impl BuildInfo {
    /// The two lines of the telnet command.
    pub fn to_text(&self) -> String {
        let date = jiff::Timestamp::from_second(self.built_s).unwrap_or_default();
        format!(
            "{} {} built at revision {} ({})\nBuilt on {} by {}@{}:{}\n",
            self.package,
            self.version,
            self.revision,
            self.status,
            date.strftime("%Y/%m/%d %H:%M:%S +0000"),
            self.user,
            self.host,
            self.repository
        )
    }

    /// The body of `/api/version`: nine strings.
    pub fn to_json(&self) -> String {
        let short: String = self.revision.chars().take(7).collect();
        json!({
            "version": self.version,
            "short_revision": short,
            "full_revision": self.revision,
            "timestamp": self.built_s.to_string(),
            "repo_status": self.status,
            "user": self.user,
            "host": self.host,
            "repo": self.repository,
            "branch": self.branch,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_told_in_two_lines_and_as_strings() {
        let build = BuildInfo {
            package: "foliot".into(),
            version: "1.2.3".into(),
            revision: "0123456789abcdef".into(),
            status: "MINT".into(),
            built_s: 1_700_002_800,
            user: "u".into(),
            host: "h".into(),
            repository: "r".into(),
            branch: "main".into(),
        };
        let text = "foliot 1.2.3 built at revision 0123456789abcdef (MINT)\n\
                    Built on 2023/11/14 23:00:00 +0000 by u@h:r\n";
        assert_eq!(build.to_text(), text);
        let json: serde_json::Value = serde_json::from_str(&build.to_json()).unwrap();
        assert_eq!(json["short_revision"], "0123456");
        assert!(json.as_object().unwrap().values().all(|value| value.is_string()));
    }
}
