//! Reads the notation of `table.txt`.

use super::{ArgumentIndex, External, Facts, Outcome, Pointed, Touched, Use};
use bohr_event::EventKind;
use std::collections::HashMap;

/// What is wrong with a line of the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} in {line:?}")]
pub(super) struct TableError {
    problem: String,
    line: String,
}

/// The functions of a table, by name.
pub(super) fn table(text: &str) -> Result<HashMap<&str, External>, TableError> {
    let mut table = HashMap::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', '[']) {
            continue;
        }
        let fail = |problem: String| TableError {
            problem,
            line: line.to_string(),
        };
        let (names, external) = entry(line).map_err(fail)?;
        for name in names {
            if table.insert(name, external.clone()).is_some() {
                return Err(fail(format!("{name} for the second time")));
            }
        }
    }
    Ok(table)
}

/// `names arguments -> result ; facts`
fn entry(line: &str) -> Result<(Vec<&str>, External), String> {
    let (before, after) = line.split_once("->").ok_or("no result")?;
    let (result, facts) = after.split_once(';').unwrap_or((after, ""));
    let mut names = Vec::new();
    let mut words = before.split_whitespace();
    for word in words.by_ref() {
        names.push(word.trim_end_matches(','));
        if !word.ends_with(',') {
            break;
        }
    }
    let mut external = External {
        arguments: Vec::new(),
        rest: Use::empty(),
        result: outcome(result.trim())?,
        facts: Facts::empty(),
        copies: Vec::new(),
        puts: Vec::new(),
        fresh_at: None,
        touched: Touched::default(),
        event: None,
    };
    for word in words {
        match word.strip_suffix('*') {
            Some(word) => external.rest = argument(word)?,
            None => external.arguments.push(argument(word)?),
        }
    }
    for word in facts.split_whitespace() {
        fact(&mut external, word)?;
    }
    Ok((names, external))
}

fn argument(word: &str) -> Result<Use, String> {
    let letter = |letter| match letter {
        '.' => Ok(Use::empty()),
        'r' => Ok(Use::READS),
        'w' => Ok(Use::WRITES),
        'k' => Ok(Use::KEEPS),
        'f' => Ok(Use::FREES),
        'o' => Ok(Use::OBJECT),
        'c' => Ok(Use::CALLS),
        'l' => Ok(Use::CALLS_LATER),
        't' => Ok(Use::STARTS),
        'd' => Ok(Use::PASSES),
        'g' => Ok(Use::GETS_SHARED),
        other => Err(format!("no argument word has {other:?}")),
    };
    word.chars()
        .try_fold(Use::empty(), |all, each| Ok(all | letter(each)?))
}

fn outcome(word: &str) -> Result<Outcome, String> {
    Ok(match word {
        "." => Outcome::Value,
        "new" => Outcome::Fresh,
        "own" => Outcome::ThreadMemory,
        "static" => Outcome::SharedMemory,
        "any" => Outcome::Anything,
        _ => Outcome::Argument(index(word.strip_prefix('=').ok_or("no result word")?)?),
    })
}

fn index(word: &str) -> Result<ArgumentIndex, String> {
    let number = word
        .parse()
        .map_err(|_| format!("{word:?} is no position"))?;
    Ok(ArgumentIndex(number))
}

fn pointed(word: &str) -> Result<Pointed, String> {
    match word {
        "R" => Ok(Pointed::Result),
        _ => Ok(Pointed::Argument(index(word)?)),
    }
}

fn touched(word: &str) -> Result<Touched, String> {
    let (arguments, count) = match word.split_once('/') {
        Some((arguments, count)) => (arguments, Some(index(count)?)),
        None => (word, None),
    };
    let arguments: Result<_, _> = arguments.split(',').map(index).collect();
    Ok(Touched {
        arguments: arguments?,
        unless_zero: count,
    })
}

fn fact(external: &mut External, word: &str) -> Result<(), String> {
    if let Some(copy) = word.strip_prefix("copy=") {
        let (from, to) = copy.split_once('>').ok_or("a copy from nowhere")?;
        external.copies.push((pointed(from)?, pointed(to)?));
    } else if let Some(put) = word.strip_prefix("put=") {
        let (pointer, place) = put.split_once('>').ok_or("nowhere to put it")?;
        external.puts.push((index(pointer)?, index(place)?));
    } else if let Some(places) = word.strip_prefix("touches=") {
        external.touched = touched(places)?;
    } else if let Some(position) = word.strip_prefix("fresh>") {
        external.fresh_at = Some(index(position)?);
    } else if let Some(name) = word.strip_prefix("event=") {
        let kind = EventKind::ALL
            .into_iter()
            .find(|kind| kind.to_string() == name);
        external.event = Some(kind.ok_or_else(|| format!("no event {name:?}"))?);
    } else {
        external.facts |= match word {
            "pure" => Facts::PURE,
            "noreturn" => Facts::NO_RETURN,
            "blocks" => Facts::BLOCKS,
            "io" => Facts::OUTSIDE,
            "unwinds" => Facts::UNWINDS,
            "callback" => Facts::CALLS_BACK,
            "errno" => Facts::SETS_ERRNO,
            "given" => Facts::CALLS_WITH_GIVEN,
            "atexit" => Facts::CALLS_AT_EXIT,
            "threadexit" => Facts::CALLS_AT_THREAD_EXIT,
            "loads" => Facts::LOADS_CODE,
            "member" => Facts::MEMBER,
            _ => return Err(format!("no fact {word:?}")),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn mistakes_are_told_with_their_line() {
        let problem = |line: &str| table(line).unwrap_err().problem;
        assert_eq!(problem("f ."), "no result");
        assert_eq!(problem("f x -> ."), "no argument word has 'x'");
        assert_eq!(problem("f . -> ; pure"), "no result word");
        assert_eq!(problem("f . -> . ; pur"), "no fact \"pur\"");
        assert_eq!(problem("f . -> . ; event=shout"), "no event \"shout\"");
        assert_eq!(problem("f, f -> ."), "f for the second time");
    }
}
