use super::*;

#[test]
fn a_loss_is_told_before_what_came_earlier() {
    let (queue, told) = (Queue::new().expect("descriptors"), Arc::new(Mutex::new(Vec::new())));
    let say = |what: &'static str| -> Job {
        let told = told.clone();
        Box::new(move || lock(&told).push(what))
    };
    for (turn, what) in [
        (Turn::InOrder, "an answer"),
        (Turn::Ahead, "a loss"),
        (Turn::InOrder, "another answer"),
        (Turn::Ahead, "another loss"),
    ] {
        queue.push(turn, say(what));
    }
    assert_eq!(queue.dispatch(0, Some(Duration::ZERO)), 4);
    assert_eq!(*lock(&told), ["a loss", "another loss", "an answer", "another answer"]);
}
