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

/// Miri sees whether somebody looks at it too late.
#[test]
fn the_data_of_a_callback_is_freed_when_the_last_one_has_left() {
    unsafe extern "C" fn free(data: *mut c_void) {
        // SAFETY: it is what was boxed below, once.
        drop(unsafe { Box::from_raw(data.cast::<Mutex<u32>>()) });
    }
    for _ in 0..10 {
        let door = Door::new(Box::into_raw(Box::new(Mutex::new(0u32))).cast());
        let others = [(); 2].map(|()| {
            let door = door.clone();
            // SAFETY: who is inside may look at it.
            let look = move || door.pass(|| *lock(unsafe { &*door.user_data.cast::<Mutex<u32>>() }) += 1);
            std::thread::spawn(look)
        });
        door.shut_with(Some(free));
        for other in others {
            other.join().expect("no panic");
        }
    }
}

#[test]
fn what_comes_when_nobody_dispatches_any_more_is_let_go_of() {
    let (queue, item) = (Queue::new().expect("descriptors"), Arc::new(()));
    let hand_over = || -> Job {
        let item = item.clone();
        Box::new(move || drop(item))
    };
    queue.push(Turn::InOrder, hand_over());
    assert_eq!(Arc::strong_count(&item), 2);
    queue.forget();
    queue.push(Turn::InOrder, hand_over());
    assert_eq!(Arc::strong_count(&item), 1, "both go back");
}
