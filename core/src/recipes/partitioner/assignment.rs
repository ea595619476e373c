//! Who is to have which partition: computed by one member of the last assignment and of who is there now, written as text.
//!
//! Everybody's share follows from the weights. A partition stays where it is unless its member has gone or has more than its
//! share; what is free goes to who has less. So no assignment moves more than it must. Where several would do, hashes of the
//! names decide, so that it does not matter who computes it.

use std::collections::BTreeMap;

/// By name, the weights of those who share the partitions.
pub(super) type Weights = BTreeMap<String, u32>;

/// By partition, the name of the member that is to have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assignment(Vec<Option<String>>);

impl Assignment {
    /// Of so many partitions, which nobody has.
    pub(super) fn of_nobody(partitions: usize) -> Assignment {
        Assignment(vec![None; partitions])
    }

    /// Whose it is to be.
    pub(super) fn member(&self, partition: usize) -> Option<&str> {
        self.0.get(partition)?.as_deref()
    }

    /// The same for those who are there now.
    pub(super) fn among(&self, members: &Weights, partitions: &[String]) -> Assignment {
        let names: Vec<&str> = members.keys().map(String::as_str).collect();
        if names.is_empty() {
            return Assignment::of_nobody(partitions.len());
        }
        let at = |name: &str| names.binary_search(&name).ok();
        let mut owners: Vec<Option<usize>> =
            (0..partitions.len()).map(|partition| self.member(partition).and_then(at)).collect();
        let mut has = vec![0; names.len()];
        owners.iter().flatten().for_each(|owner| has[*owner] += 1);
        let shares = shares(members, partitions.len(), &has);
        let score = |member: usize, partition: usize| hash(&[names[member], &partitions[partition]]);
        for member in 0..names.len() {
            let mut own: Vec<usize> = (0..owners.len()).filter(|at| owners[*at] == Some(member)).collect();
            own.sort_by_key(|partition| std::cmp::Reverse(score(member, *partition)));
            own.iter().skip(shares[member]).for_each(|partition| owners[*partition] = None);
            has[member] = own.len().min(shares[member]);
        }
        for (partition, owner) in owners.iter_mut().enumerate() {
            if owner.is_none() {
                let short = (0..names.len()).filter(|member| has[*member] < shares[*member]);
                // The shares are as many as the partitions, so somebody is.
                let taker = short.max_by_key(|member| score(*member, partition));
                taker.into_iter().for_each(|taker| has[taker] += 1);
                *owner = taker;
            }
        }
        Assignment(owners.iter().map(|owner| owner.map(|owner| names[owner].to_owned())).collect())
    }

    /// As text: what it is of, the members, and for each partition which of them has it.
    pub(super) fn to_bytes(&self, list: &str) -> Vec<u8> {
        let mut names: Vec<&str> = self.0.iter().flatten().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let place = |name: &String| match names.binary_search(&name.as_str()) {
            Ok(at) => at.to_string(),
            Err(_) => "-".to_owned(),
        };
        let places = self.0.iter().map(|owner| owner.as_ref().map_or("-".to_owned(), place));
        let places: Vec<String> = places.collect();
        format!("{HEAD} {list}\n{}\n\n{}\n", names.join("\n"), places.join(" ")).into_bytes()
    }

    /// Whether it is an assignment, and of another list of partitions.
    pub(super) fn is_of_another_list(bytes: &[u8], list: &str) -> bool {
        bytes.starts_with(HEAD.as_bytes()) && !bytes.starts_with(format!("{HEAD} {list}\n").as_bytes())
    }

    /// The assignment of that list of partitions, if it is one.
    pub(super) fn parse(bytes: &[u8], list: &str, partitions: usize) -> Option<Assignment> {
        let text = std::str::from_utf8(bytes).ok()?;
        let text = text.strip_prefix(HEAD)?.strip_prefix(' ')?.strip_prefix(list)?.strip_prefix('\n')?;
        let (names, places) = text.split_once("\n\n")?;
        let names: Vec<&str> = names.split('\n').collect();
        let owner = |place: &str| match place {
            "-" => Some(None),
            place => names.get(place.parse::<usize>().ok()?).map(|name| Some((*name).to_owned())),
        };
        let owners: Option<Vec<Option<String>>> = places.split_whitespace().map(owner).collect();
        owners.filter(|owners| owners.len() == partitions).map(Assignment)
    }
}

const HEAD: &str = "zkrecipes partitions 1";

/// How many partitions each is to have, as many as there are together: by weight, and what is left over to those who have more
/// than their whole part already, then to those of whom most was cut off.
fn shares(members: &Weights, partitions: usize, has: &[usize]) -> Vec<usize> {
    let all: u64 = members.values().map(|weight| u64::from(*weight)).sum();
    let parts = members.values().map(|weight| partitions as u64 * u64::from(*weight));
    let parts: Vec<(usize, u64)> = parts.map(|part| ((part / all) as usize, part % all)).collect();
    let mut shares: Vec<usize> = parts.iter().map(|(whole, _)| *whole).collect();
    let mut cut: Vec<usize> = (0..parts.len()).filter(|at| parts[*at].1 > 0).collect();
    cut.sort_by_key(|at| (has[*at] <= parts[*at].0, std::cmp::Reverse(parts[*at].1)));
    let left = partitions - shares.iter().sum::<usize>();
    cut.iter().take(left).for_each(|at| shares[*at] += 1);
    shares
}

/// FNV-1a with 64 bits, stirred: the same everywhere and always.
pub(super) fn hash(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let stirred = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    stirred ^ (stirred >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partitions(n: usize) -> Vec<String> {
        (0..n).map(|partition| partition.to_string()).collect()
    }

    fn members(weights: &[(&str, u32)]) -> Weights {
        weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    fn count(assignment: &Assignment, name: &str) -> usize {
        assignment.0.iter().flatten().filter(|owner| *owner == name).count()
    }

    fn moved(before: &Assignment, after: &Assignment) -> usize {
        before.0.iter().zip(&after.0).filter(|(before, after)| before != after).count()
    }

    #[test]
    fn everybody_gets_what_its_weight_says() {
        let names = partitions(12);
        let assignment = Assignment::of_nobody(12).among(&members(&[("a", 1), ("b", 2), ("c", 3)]), &names);
        assert_eq!(["a", "b", "c"].map(|name| count(&assignment, name)), [2, 4, 6]);
        let few = Assignment::of_nobody(2).among(&members(&[("a", 1), ("b", 1), ("c", 1)]), &partitions(2));
        assert_eq!(["a", "b", "c"].iter().map(|name| count(&few, name)).sum::<usize>(), 2);
        assert_eq!(few.among(&Weights::new(), &partitions(2)), Assignment::of_nobody(2));
    }

    #[test]
    fn nothing_moves_that_need_not() {
        let names = partitions(256);
        let (mut there, mut assignment) = (Weights::new(), Assignment::of_nobody(256));
        let mut number: u64 = 7;
        for round in 0..500 {
            number = hash(&[&number.to_string()]);
            let gone = there.keys().nth(number as usize % 60).cloned();
            match gone {
                Some(gone) if !number.is_multiple_of(3) => drop(there.remove(&gone)),
                _ => drop(there.insert(format!("member-{round}"), 1)),
            }
            let next = assignment.among(&there, &names);
            let (n, least) = (there.len(), 256 / there.len().max(1));
            let most = least + usize::from(256 % n.max(1) > 0);
            assert!(
                there.keys().all(|name| (least..=most).contains(&count(&next, name))),
                "in round {round}"
            );
            assert!(n == 1 || moved(&assignment, &next) <= most + 1, "in round {round}");
            assert_eq!(next.among(&there, &names), next);
            assignment = next;
        }
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let names = partitions(5);
        let assignment = Assignment::of_nobody(5).among(&members(&[("a b", 1), ("c", 1)]), &names);
        let bytes = assignment.to_bytes("12ab");
        assert_eq!(Assignment::parse(&bytes, "12ab", 5), Some(assignment));
        assert_eq!(Assignment::parse(&bytes, "12ac", 5), None, "that of another list");
        assert_eq!(Assignment::parse(&bytes, "12ab", 6), None);
        assert_eq!(Assignment::parse(b"something else", "12ab", 5), None);
        let nobody = Assignment::of_nobody(3);
        assert_eq!(Assignment::parse(&nobody.to_bytes("1"), "1", 3), Some(nobody));
    }
}
