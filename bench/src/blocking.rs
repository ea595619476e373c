//! zkrecipes in Rust, in programs that block: whoever waits for an answer reads it from the socket.

use std::io::stdin;
use std::time::Duration;

use zkrecipes::blocking::Client;
use zkrecipes::{ClientOptions, LockOptions};

use crate::line::{Answer, Order, list, now, say};

pub fn serve(hosts: &str, milliseconds: u64) {
    let options = ClientOptions::default()
        .session_timeout(Duration::from_millis(milliseconds))
        .connect_timeout(Duration::from_secs(60));
    let client = Client::connect(hosts, options).expect("a server");
    println!("ready version={}", zkrecipes::version());
    for line in stdin().lines().map_while(Result::ok) {
        let order = Order::read(&line);
        say(match order.verb.as_str() {
            "lock" | "background" => free(&client, &order),
            _ => Ok(None),
        });
    }
}

/// Nobody else wants it.
fn free(client: &Client, order: &Order) -> Answer {
    let lock = client.lock(order.path(), LockOptions::default())?;
    let waits = order.verb == "lock";
    let (mut acquired, mut both) = (Vec::new(), Vec::new());
    for _ in 0..order.number("ops") {
        let begun = now();
        let held = lock.acquire()?;
        acquired.push(now() - begun);
        match waits {
            true => held.release()?,
            false => held.release_in_background()?,
        }
        both.push(now() - begun);
    }
    Ok(Some(format!("{} {}", list("acquire", &acquired), list("both", &both))))
}
