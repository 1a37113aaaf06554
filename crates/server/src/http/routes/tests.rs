use super::*;

#[test]
fn every_route_is_found_by_its_path_and_refuses_other_methods() {
    for route in ROUTES {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"] {
            let found = find(method, route.path, "");
            let allowed = route.methods.contains(&method);
            match found {
                Ok(found) if allowed => assert_eq!(found.target, route.target),
                Ok(found) => panic!("{method} {} finds {found:?}", route.path),
                Err(NoRoute::Unknown) => panic!("{method} {} is not found", route.path),
                Err(_) => assert!(!allowed, "{method} {}", route.path),
            }
        }
    }
}

/// The table of rights in docs/security.md.
fn rights_table() -> String {
    let mut table = "| path | methods | needs |\n|---|---|---|\n".to_owned();
    let mut list = |routes: &[Route], mark: &str| {
        for route in routes {
            let Route { methods, path, right, .. } = route;
            let (methods, needs) = (methods.join(", "), right.needs());
            table.push_str(&format!("| `{path}`{mark} | {methods} | {needs} |\n"));
        }
    };
    list(ROUTES, "");
    list(TICKTOCK_ROUTES, " (TickTock's ports)");
    table
}

#[test]
fn the_rights_of_every_route_are_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let table = rights_table();
    assert!(text.contains(&table), "docs/security.md must hold this table:\n{table}");
}

#[test]
fn every_route_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server.md");
    let text = std::fs::read_to_string(path).unwrap();
    for route in ROUTES {
        let is_named = text.contains(&format!("`{}`", route.path));
        assert!(is_named, "{} is missing in docs/server.md", route.path);
    }
}

#[test]
fn foliots_own_paths_are_those_of_the_openapi_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let api = std::fs::read_to_string(path).unwrap();
    let api: serde_json::Value = serde_json::from_str(&api).unwrap();
    let mut described = Vec::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        let of_path = |method: &String| format!("{} {path}", method.to_uppercase());
        described.extend(methods.as_object().unwrap().keys().map(of_path));
    }
    let own = ROUTES.iter().filter(|route| matches!(route.target, Target::Foliot(_)));
    let of_route = |route: &'static Route| {
        route.methods.iter().map(|method| format!("{method} {}", route.path))
    };
    let mut routes: Vec<String> = own.flat_map(of_route).collect();
    described.sort();
    routes.sort();
    assert_eq!(described, routes);
}

#[test]
fn foliots_own_parameters_are_those_of_the_openapi_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let api = std::fs::read_to_string(path).unwrap();
    let api: serde_json::Value = serde_json::from_str(&api).unwrap();
    for route in ROUTES {
        let Target::Foliot(endpoint) = route.target else { continue };
        for method in route.methods {
            let described = &api["paths"][route.path][method.to_lowercase()]["parameters"];
            let described = described.as_array().into_iter().flatten();
            let named = described.map(|one| one["name"].as_str().unwrap());
            let mut described: Vec<_> =
                named.filter(|name| !matches!(*name, "db" | "rp")).collect();
            let mut known = endpoint.params(method).to_vec();
            described.sort_unstable();
            known.sort_unstable();
            assert_eq!(described, known, "{method} {}", route.path);
        }
    }
}

#[test]
fn ticktocks_paths_are_documented_and_take_their_methods_only() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols/ticktock.md");
    let text = std::fs::read_to_string(path).unwrap();
    for route in TICKTOCK_ROUTES {
        assert!(text.contains(&format!("`{}`", route.path)), "{}", route.path);
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let is_found = find_ticktock(method, route.path).is_some();
            assert_eq!(is_found, route.methods.contains(&method), "{method} {}", route.path);
        }
    }
    assert!(find_ticktock("GET", "/api/Query").is_none());
}

#[test]
fn whatever_changes_the_store_is_not_reached_by_get() {
    for route in ROUTES.iter().filter(|route| route.stores()) {
        let is_of_reading = |method: &&str| !matches!(*method, "POST" | "PUT");
        assert!(!route.methods.iter().any(is_of_reading), "{}", route.path);
    }
}

#[test]
fn api_paths_ignore_case_and_version() {
    let to = |path| find("POST", path, "").map(|route| route.target);
    assert_eq!(to("/API/v1/PUT/"), Ok(Target::OpenTsdb(Endpoint::Put)));
    assert_eq!(to("/api/v2/write"), Ok(Target::InfluxWrite2));
    assert_eq!(to("/write/"), Ok(Target::InfluxWrite));
    assert_eq!(to("/nowhere"), Err(NoRoute::Unknown));
    let status = |path| match to(path) {
        Err(NoRoute::OpenTsdb { status, .. }) => status,
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(status("/api/nosuch"), 404);
    assert_eq!(status("/api/v2/put"), 501);
    assert_eq!(status("/api/status"), 405);
}
