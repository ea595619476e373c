//! Who reads a socket, and how that is handed over.

use std::sync::Arc;

use shuttle::future::block_on;
use shuttle::thread;

use crate::drive;
use crate::error::{Error, ErrorKind};
use crate::session::wire::own::system::{Stop, Stream};
use crate::session::wire::own::{Connection, Socket, ask, connected, serve};

/// A server that answers each request, one after the other.
fn server(stream: &Arc<Stream>) -> thread::JoinHandle<()> {
    let stream = stream.clone();
    thread::spawn(move || {
        while let Some(requests) = stream.hear() {
            requests.into_iter().for_each(|number| stream.say(number));
        }
    })
}

fn io_thread(
    connection: &Arc<Connection<Socket>>,
    stream: &Arc<Stream>,
    has_watchdog: bool,
) -> thread::JoinHandle<()> {
    let (connection, stream) = (connection.clone(), stream.clone());
    thread::spawn(move || serve(&connection, &stream, has_watchdog))
}

/// Blocks until there is an answer, as a thread of a user, and drives.
fn wait(connection: &Arc<Connection<Socket>>, number: u8) {
    let asked = ask(connection, number);
    let answer = drive::wait(
        async move { asked.await.map_err(|error| Error::new(ErrorKind::Internal, format!("{error:?}"))) },
        None,
        None,
    );
    assert_eq!(answer.expect("answered"), [number]);
}

/// Awaits an answer as a task, which reads nothing.
fn task(connection: &Arc<Connection<Socket>>, number: u8) -> shuttle::future::JoinHandle<()> {
    let connection = connection.clone();
    shuttle::future::spawn(async move { assert_eq!(ask(&connection, number).await, Ok(vec![number])) })
}

fn end(connection: &Connection<Socket>, stream: &Stream, others: [thread::JoinHandle<()>; 2]) {
    connection.give_up();
    stream.close();
    for other in others {
        other.join().expect("it ends");
    }
}

/// No watchdog helps where one has forgotten to arm the I/O thread.
pub fn everybody_has_their_answer() {
    let (connection, stream) = connected();
    let others = [server(&stream), io_thread(&connection, &stream, false)];
    let threads = [1, 3].map(|first| {
        let connection = connection.clone();
        thread::spawn(move || (first..first + 2).for_each(|number| wait(&connection, number)))
    });
    let task = task(&connection, 9);
    for thread in threads {
        thread.join().expect("it has its answers");
    }
    block_on(task).expect("it has its answer");
    assert!(stream.most_polled() <= 1, "two threads drive");
    end(&connection, &stream, others);
}

pub fn a_thread_that_stands_still_holds_up_nobody() {
    let (connection, stream) = connected();
    let others = [server(&stream), io_thread(&connection, &stream, true)];
    let stop = Stop::default();
    let stopped = {
        let (connection, stop) = (connection.clone(), stop.clone());
        thread::spawn(move || {
            stop.this_thread();
            wait(&connection, 1);
            wait(&connection, 2);
        })
    };
    let thread = {
        let connection = connection.clone();
        thread::spawn(move || wait(&connection, 3))
    };
    let task = task(&connection, 9);
    thread.join().expect("it has its answer");
    block_on(task).expect("it has its answer");
    stop.goes_on();
    stopped.join().expect("it has its answers");
    end(&connection, &stream, others);
}
