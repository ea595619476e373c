//! What `embedded:` says in a program that is built without the server. The tests of the core are all built with it; these,
//! if they are built alone, are not: `ZKR_WITHOUT_EMBEDDED` says so.

use zkrecipes::ErrorKind;
use zkrecipes::blocking::Client;

#[test]
fn embedded_says_what_to_enable_where_it_is_not() {
    match Client::connect("embedded:", Default::default()) {
        Ok(_) => assert!(
            std::env::var_os("ZKR_WITHOUT_EMBEDDED").is_none(),
            "the server is in a program that did not ask for it"
        ),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            let said = error.to_string();
            assert!(said.contains("feature \"embedded\"") && said.contains("name a server"), "{said}");
        }
    }
}
