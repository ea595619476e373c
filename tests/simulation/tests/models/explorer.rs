//! Tries every order of the steps of a small model, breadth first, so that the way to a broken promise is as short as
//! can be.

use std::collections::HashMap;
use std::hash::Hash;

/// Who does what next, and what comes of it; `Err` tells which promise that breaks.
pub struct Step<S> {
    pub who: usize,
    pub what: &'static str,
    pub to: Result<S, &'static str>,
}

pub trait Model {
    type State: Copy + Eq + Hash;

    /// Everything that can happen next.
    fn steps(&self, state: &Self::State) -> Vec<Step<Self::State>>;

    /// What must hold where nothing can happen any more.
    fn at_rest(&self, state: &Self::State) -> Result<(), &'static str>;
}

/// A state, from which other it was reached first, and by what.
type Reached<S> = (S, usize, usize, &'static str);

/// How many states there are, in each of which all promises hold and from each of which one comes to rest; else the
/// broken promise and the way to it.
pub fn explore<M: Model>(model: &M, start: M::State) -> Result<usize, String> {
    let mut reached: Vec<Reached<M::State>> = vec![(start, 0, 0, "")];
    let mut numbers = HashMap::from([(start, 0)]);
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut at_rest = Vec::new();
    let mut next = 0;
    while next < reached.len() {
        let state = reached[next].0;
        let steps = model.steps(&state);
        if steps.is_empty() {
            model.at_rest(&state).map_err(|broken| way(&reached, next, broken, None))?;
            at_rest.push(next as u32);
        }
        for step in steps {
            let to = step.to.map_err(|broken| way(&reached, next, broken, Some((step.who, step.what))))?;
            let number = *numbers.entry(to).or_insert_with(|| {
                reached.push((to, next, step.who, step.what));
                reached.len() - 1
            });
            edges.push((number as u32, next as u32));
        }
        next += 1;
    }
    match stuck(reached.len(), edges, at_rest) {
        Some(stuck) => Err(way(&reached, stuck, "it goes on for ever", None)),
        None => Ok(reached.len()),
    }
}

/// The first state from which nothing ever comes to rest. An edge leads back, from a state to one before it.
fn stuck(states: usize, mut edges: Vec<(u32, u32)>, mut open: Vec<u32>) -> Option<usize> {
    edges.sort_unstable();
    let mut rests = vec![false; states];
    open.iter().for_each(|state| rests[*state as usize] = true);
    while let Some(state) = open.pop() {
        let first = edges.partition_point(|(to, _)| *to < state);
        for (_, from) in edges[first..].iter().take_while(|(to, _)| *to == state) {
            if !std::mem::replace(&mut rests[*from as usize], true) {
                open.push(*from);
            }
        }
    }
    rests.iter().position(|rests| !rests)
}

fn way<S>(reached: &[Reached<S>], mut at: usize, broken: &str, last: Option<(usize, &str)>) -> String {
    let mut steps: Vec<_> = last.iter().map(|(who, what)| format!("{who}: {what}")).collect();
    while at > 0 {
        let (_, from, who, what) = &reached[at];
        steps.push(format!("{who}: {what}"));
        at = *from;
    }
    steps.reverse();
    format!("{broken}\n  {}", steps.join("\n  "))
}
