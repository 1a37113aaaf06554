//! What commands that speak with a running server are told of it: its address, and who asks.

use clap::{Arg, ArgMatches};
use foliot_migrate::{Client, Error};
use std::path::PathBuf;

/// Where a server listens that was told nothing else.
const ADDRESS: &str = "http://127.0.0.1:4242";

/// Names a server for all commands of a shell.
const ADDRESS_VARIABLE: &str = "FOLIOT_URL";

/// A secret on a command line is seen by everybody on the machine, so a token may come by this.
const TOKEN_VARIABLE: &str = "FOLIOT_TOKEN";

/// Names the certificates to trust for all commands of a shell.
const CA_VARIABLE: &str = "FOLIOT_CA";

/// The flags that name a server and who asks it.
pub(crate) fn arguments() -> [Arg; 4] {
    [
        Arg::new("url").long("url").value_name("URL").help(format!(
            "The server, as http[s]://[USER:PASSWORD@]HOST:PORT [env: FOLIOT_URL] [default: {ADDRESS}]"
        )),
        Arg::new("ca").long("ca").value_name("FILE").help(
            "Certificates, as PEM, one of which signed that of a server of https, in place of the \
             system's [env: FOLIOT_CA]",
        ),
        Arg::new("user")
            .long("user")
            .value_name("NAME:PASSWORD")
            .conflicts_with("token")
            .help("Who asks"),
        Arg::new("token")
            .long("token")
            .value_name("TOKEN")
            .help("The token of who asks [env: FOLIOT_TOKEN]"),
    ]
}

/// The server that the flags name. Does not connect yet.
///
/// # Errors
/// One sentence.
pub(crate) fn client(matches: &ArgMatches) -> Result<Client, String> {
    let text = |name| matches.get_one::<String>(name);
    let given = |name, variable| text(name).cloned().or_else(|| std::env::var(variable).ok());
    let url = given("url", ADDRESS_VARIABLE).unwrap_or_else(|| ADDRESS.to_owned());
    let client = trusting(Client::new(&url), given("ca", CA_VARIABLE))?;
    if let Some(user) = text("user") {
        return match user.contains(':') {
            true => Ok(client.with_user(user)),
            false => Err(format!("--user {user}: write it as --user NAME:PASSWORD")),
        };
    }
    asking(client, given("token", TOKEN_VARIABLE))
}

/// The server at an address, for commands without flags of who asks: the environment says it.
///
/// # Errors
/// One sentence.
pub(crate) fn client_at(url: &str) -> Result<Client, String> {
    let client = trusting(Client::new(url), std::env::var(CA_VARIABLE).ok())?;
    asking(client, std::env::var(TOKEN_VARIABLE).ok())
}

fn trusting(client: Result<Client, Error>, file: Option<String>) -> Result<Client, String> {
    let client = client.map_err(|error| error.to_string())?;
    Ok(match file {
        Some(file) => client.with_ca(PathBuf::from(file)),
        None => client,
    })
}

fn asking(client: Client, token: Option<String>) -> Result<Client, String> {
    match token {
        Some(token) => client.with_token(&token).map_err(|error| error.to_string()),
        None => Ok(client),
    }
}

/// What a server says in an answer that refuses.
pub(crate) fn refusal(status: u16, body: &[u8]) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let error = json.as_ref().and_then(|json| json.get("error"));
    let said = error.and_then(|error| error.get("message").unwrap_or(error).as_str());
    // Some of OpenTSDB's words are marked for browsers.
    let said = said.map(|said| said.replace("<code>", "").replace("</code>", ""));
    match said {
        Some(said) if status == 401 => format!(
            "{said}; say who asks with --user NAME:PASSWORD, or with --token or FOLIOT_TOKEN"
        ),
        Some(said) => match error.and_then(|error| error.get("details")?.as_str()) {
            Some(details) => format!("{said}. {details}"),
            None => said,
        },
        None => {
            let text = String::from_utf8_lossy(body);
            format!("the server answered {status} {}", text.trim()).trim_end().to_owned()
        }
    }
}

/// A text whose control characters cannot do anything to a terminal.
pub(crate) fn visible(text: &str) -> String {
    let shown = |char: char| match char.is_control() {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    text.chars().map(shown).collect()
}
