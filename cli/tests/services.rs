//! `zkrecipes services`.

mod support;

use support::{assert_nothing_left, run, server, start};
use zkrecipes::blocking::Client;
use zkrecipes::{ClientOptions, CreateMode, Service, ServiceType};

const PATH: &str = "/services";

#[test]
fn services_and_their_instances_are_listed() {
    let server = server();
    let nothing = run(&server, &["services", PATH]);
    assert_eq!((nothing.status, nothing.out.as_str()), (0, ""));
    assert!(nothing.err.contains("there is no service"), "{nothing:?}");
    assert_eq!(run(&server, &["services", "--json", PATH]).out, "[]\n");
    let nobody = run(&server, &["services", PATH, "web"]);
    assert!(nobody.err.contains("there is no instance of web"), "{nobody:?}");

    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let discovery = client.discovery(PATH).expect("a path");
    let one = Service::new("web", "10.0.0.7").id("one").port(80).payload(r#"{"zone": "b"}"#);
    discovery.register(one.uri_spec("{scheme}://{address}:{port}")).expect("free");
    let two = Service::new("web", "10.0.0.8").id("two").ssl_port(443).enabled(false);
    discovery.register(two.service_type(ServiceType::Static)).expect("free");
    client.nodes().create("/services/web/odd", b"?", CreateMode::Persistent).expect("free");

    assert_eq!(run(&server, &["services", PATH]).out, "web\n");
    assert_eq!(run(&server, &["services", "--json", PATH]).out, "[\"web\"]\n");
    let listed = run(&server, &["services", PATH, "web"]);
    let expected = "ID   ADDRESS   PORT   TYPE     ENABLED  PAYLOAD\n\
                    one  10.0.0.7  80     dynamic  yes      {\"zone\": \"b\"}\n\
                    two  10.0.0.8  -/443  static   no\n";
    assert_eq!(listed.out, expected);
    assert!(listed.err.contains("/services/web/odd"), "{listed:?}");
    let json = run(&server, &["services", "--json", PATH, "web"]).out;
    for part in [
        r#""id":"one""#,
        r#""payload":{"zone":"b"}"#,
        r#""uri":"http://10.0.0.7:80""#,
        r#""ssl_port":443"#,
        r#""payload":null"#,
        r#""enabled":false"#,
        r#"{"node":"odd","problem":""#,
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let long = Service::new("long", "h").payload("[12345678901234567890123,\n 1e400]");
    discovery.register(long).expect("free");
    let json = run(&server, &["services", "--json", PATH, "long"]).out;
    assert!(json.contains(r#""payload":[12345678901234567890123,1e400],"#), "{json}");
    let refused = run(&server, &["services", PATH, "a/b"]);
    assert_eq!(refused.status, 2, "{refused:?}");
}

#[test]
fn a_watcher_is_told_the_instances_whenever_they_are_others() {
    let server = server();
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).expect("a server");
    let discovery = client.discovery(PATH).expect("a path");
    let watching = start(&server, &["services", "--watch", PATH, "web"]);
    let json = start(&server, &["services", "--watch", "--json", PATH, "web"]);
    let told = |plain: &str, part: &str| {
        let line = watching.out.line();
        assert_eq!(line.split_once("  ").expect("a time").1, plain);
        let line = json.out.line();
        assert!(line.starts_with("{\"at\":\"20") && line.contains(part), "{line}");
    };
    told("-", r#""instances":[]"#);
    let registration = discovery.register(Service::new("web", "10.0.0.7").id("one").port(80)).expect("free");
    told("one=10.0.0.7:80", r#""address":"10.0.0.7""#);
    let disabled = Service::new("web", "10.0.0.7").id("one").port(80).enabled(false);
    registration.update(disabled).expect("registered");
    told("one=10.0.0.7:80!", r#""enabled":false"#);
    registration.unregister().expect("registered");
    told("-", r#""instances":[]"#);
    watching.signal(libc::SIGINT);
    json.signal(libc::SIGINT);
    assert_eq!((watching.end().status, json.end().status), (0, 0));
    client.close(None).expect("a server");
    assert_nothing_left(&server, PATH);
}
