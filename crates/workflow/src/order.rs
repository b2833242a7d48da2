//! The order of phases: each after those that it needs, otherwise as in the file.

/// Returns the indices of the phases in order, or the phases of a cycle: each needs the next, and the last needs
/// the first.
pub fn order(needs: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut ordered: Vec<usize> = Vec::with_capacity(needs.len());
    while ordered.len() < needs.len() {
        let is_ready = |phase: &usize| {
            !ordered.contains(phase) && needs[*phase].iter().all(|needed| ordered.contains(needed))
        };
        match (0..needs.len()).find(is_ready) {
            Some(phase) => ordered.push(phase),
            None => return Err(cycle(needs, &ordered)),
        }
    }
    Ok(ordered)
}

/// Returns a cycle among the phases that are not ordered. Each of them needs another one of them.
fn cycle(needs: &[Vec<usize>], ordered: &[usize]) -> Vec<usize> {
    let next = |phase: usize| needs[phase].iter().copied().find(|needed| !ordered.contains(needed));
    let mut path: Vec<usize> = Vec::new();
    let mut phase = (0..needs.len()).find(|phase| !ordered.contains(phase));
    while let Some(current) = phase {
        if let Some(start) = path.iter().position(|earlier| *earlier == current) {
            return path.split_off(start);
        }
        path.push(current);
        phase = next(current);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn orders_phases() {
        let check = |needs: &[&[usize]], expected: Result<&[usize], &[usize]>| {
            let needs: Vec<Vec<usize>> = needs.iter().map(|needs| needs.to_vec()).collect();
            assert_eq!(
                order(&needs),
                expected.map(<[usize]>::to_vec).map_err(<[usize]>::to_vec),
                "{needs:?}"
            );
        };
        check(&[], Ok(&[]));
        check(&[&[], &[0], &[0], &[1, 2]], Ok(&[0, 1, 2, 3]));
        check(&[&[2], &[], &[1]], Ok(&[1, 2, 0]));
        check(&[&[0]], Err(&[0]));
        check(&[&[], &[3], &[1], &[2]], Err(&[1, 3, 2]));
        check(&[&[1], &[2], &[1]], Err(&[1, 2]));
    }
}
