//! The machine in a world where everything lags, crashes and jumps.

use std::collections::VecDeque;

use fastrand::Rng;
use proptest::prelude::*;

use super::seen::*;
use super::watched::*;
use super::*;

const SETTLE: Duration = Duration::from_secs(60);
const HOUR: i64 = 3600;
const AUTHORITY: i64 = 100 * HOUR;
const LEAF: i64 = 30 * HOUR;

/// An API server acts on what the configuration said at most so long ago, and a Pod that starts
/// gets what the Secret held at most so long ago.
const LAG: i64 = 50;

/// A Pod that runs gets a new Secret after at most so long, and its Lease is as old at most.
const MOUNT: i64 = 120;
const REPORT: i64 = 60;

/// Which faults there are, besides crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Faults {
    None,
    /// The rotator's clock jumps.
    Clock,
    /// Somebody deletes Secrets.
    Loss,
    /// The clock jumps, and somebody deletes and overwrites anything.
    Destruction,
}

#[derive(Debug, Clone)]
struct Replica {
    shown: Option<Leaf>,
    /// When it gets the Secret next, and what its Lease will say when.
    mounts: i64,
    reports: VecDeque<(i64, String)>,
    reported: Option<String>,
}

struct World {
    rng: Rng,
    faults: Faults,
    /// True time, and by how much the clock of whoever decides is wrong.
    now: i64,
    wrong: i64,
    authority: Option<Authority>,
    serving: Serving,
    configuration: Configuration,
    configurations: VecDeque<(i64, Configuration)>,
    secrets: VecDeque<(i64, Serving)>,
    replicas: Vec<Replica>,
    watched: Watched,
    /// The rotator is away until then.
    away: i64,
    /// Nothing else is destroyed until then.
    quiet: i64,
    kept: Option<Authority>,
    made: u32,
    steps: Vec<Step>,
}

/// As it is read from a bundle.
fn as_read(fingerprint: String) -> Trusted {
    Trusted { pem: format!("<{fingerprint}>"), fingerprint, from: 0, to: i64::MAX }
}

fn is_valid(leaf: &Leaf, now: i64) -> bool {
    (leaf.from..=leaf.to).contains(&now)
}

impl World {
    fn new(seed: u64, faults: Faults) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            faults,
            now: 1_800_000_000,
            wrong: 0,
            authority: None,
            serving: Serving::default(),
            configuration: Configuration::Absent,
            configurations: VecDeque::new(),
            secrets: VecDeque::new(),
            replicas: vec![],
            watched: Watched::default(),
            away: 0,
            quiet: 0,
            kept: None,
            made: 0,
            steps: vec![],
        }
    }

    fn once_in(&mut self, count: u32) -> bool {
        self.rng.u32(..count) == 0
    }

    fn clock(&self) -> i64 {
        self.now + self.wrong
    }

    fn monotonic(&self) -> Duration {
        Duration::from_secs(u64::try_from(self.now).unwrap())
    }

    fn signer(&mut self) -> Signer {
        self.made += 1;
        let (from, to) = (self.clock() - HOUR, self.clock() + AUTHORITY);
        let fingerprint = format!("authority {}", self.made);
        let pem = format!("<{fingerprint}>");
        Signer { certificate: Trusted { pem, fingerprint, from, to }, key: String::new() }
    }

    fn see(&mut self) -> Seen {
        let mut configuration = self.configuration.clone();
        let shown = self.replicas.iter().filter_map(|replica| replica.reported.clone()).collect();
        let mut shown = Some(shown);
        if self.once_in(50) {
            configuration = Configuration::Unknown;
        }
        if self.once_in(50) {
            shown = None;
        }
        let mut serving = self.serving.clone();
        let mut stranger = None;
        // Whoever signed is known only as long as the authority is.
        if let Some(leaf) = &mut serving.leaf {
            let trusted = self.authority.iter().flat_map(Authority::trusted);
            let known: Vec<&str> = trusted.map(|t| t.fingerprint.as_str()).collect();
            let by = leaf.by.take();
            leaf.by = by.clone().filter(|by| known.contains(&by.as_str()));
            let told = match &configuration {
                Configuration::Entries(bundles) => bundles.concat(),
                _ => String::new(),
            };
            let by = by.filter(|by| leaf.by.is_none() && told.contains(&format!("<{by}>")));
            stranger = by.filter(|_| self.authority.is_some()).map(as_read);
        }
        Seen { authority: self.authority.clone(), serving, configuration, stranger, shown }
    }

    /// One pass of the rotator; whether it wrote.
    fn pass(&mut self) -> bool {
        let seen = self.see();
        let held = self.watched.look(&seen, self.monotonic(), SETTLE);
        let mut failed = vec![];
        let mut step = next(&seen, held, self.clock(), SETTLE, &failed);
        while Step::DISPENSABLE.contains(&step) && self.once_in(20) {
            // It is not allowed to, or nobody answers.
            failed.push(step);
            step = next(&seen, held, self.clock(), SETTLE, &failed);
        }
        if let Step::Rest(_) = step {
            return false;
        }
        if self.once_in(20) {
            // It crashes before it writes, or the write fails.
            self.watched = Watched::default();
            return false;
        }
        self.write(step, seen.stranger);
        self.steps.push(step);
        if self.once_in(10) {
            self.watched = Watched::default();
        }
        true
    }

    fn write(&mut self, step: Step, stranger: Option<Trusted>) {
        let authority = self.authority.clone().unwrap_or_default();
        match step {
            Step::Begin => {
                let mut text = self.serving.bundle.clone();
                if let Configuration::Entries(bundles) = &self.configuration {
                    text.extend(bundles.iter().map(String::as_str));
                }
                // As a real bundle is read: each once.
                let mut previous: Vec<Trusted> = vec![];
                for fingerprint in text.split(['<', '>']).filter(|part| part.starts_with('a')) {
                    if previous.iter().all(|known| known.fingerprint != fingerprint) {
                        previous.push(as_read(fingerprint.to_owned()));
                    }
                }
                self.authority = Some(Authority::begin(self.signer(), previous));
            }
            Step::Adopt => {
                self.authority = Some(authority.adopt(stranger.unwrap()));
            }
            Step::Announce => self.authority = Some(authority.announce(self.signer())),
            Step::Promote => self.authority = Some(authority.promote()),
            Step::Forget => self.authority = Some(authority.forget()),
            Step::Publish => {
                let Configuration::Entries(bundles) = &self.configuration else { panic!() };
                let bundles = bundles.iter().map(|_| authority.bundle()).collect();
                self.configuration = Configuration::Entries(bundles);
            }
            Step::Issue => {
                let signer = authority.signer.clone().unwrap().certificate;
                self.made += 1;
                let leaf = Leaf {
                    fingerprint: format!("leaf {}", self.made),
                    by: Some(signer.fingerprint),
                    from: (self.clock() - HOUR).max(signer.from),
                    to: (self.clock() + LEAF).min(signer.to),
                    names: true,
                };
                self.serving = Serving { leaf: Some(leaf), bundle: authority.bundle() };
            }
            Step::Show => self.serving.bundle = authority.bundle(),
            Step::Rest(_) => unreachable!(),
        }
        self.remember();
    }

    /// What is stored now is what somebody may still act on a while later.
    fn remember(&mut self) {
        self.configurations.push_back((self.now, self.configuration.clone()));
        self.secrets.push_back((self.now, self.serving.clone()));
    }

    /// What was current at any moment since then.
    fn recent<T: Clone>(history: &VecDeque<(i64, T)>, since: i64) -> Vec<T> {
        let begun = history.iter().rposition(|(at, _)| *at <= since).unwrap_or(0);
        history.iter().skip(begun).map(|(_, value)| value.clone()).collect()
    }

    fn nodes(&mut self) {
        let now = self.now;
        for n in 0..self.replicas.len() {
            let delays = [self.rng.i64(1..=MOUNT), self.rng.i64(1..=REPORT)];
            let replica = &mut self.replicas[n];
            if now >= replica.mounts {
                replica.mounts = now + delays[0];
                replica.take(&self.serving, now);
                if let Some(shown) = &replica.shown {
                    replica.reports.push_back((now + delays[1], shown.fingerprint.clone()));
                }
            }
            while replica.reports.front().is_some_and(|(at, _)| *at <= now) {
                replica.reported = replica.reports.pop_front().map(|(_, shown)| shown);
            }
        }
        if self.replicas.len() < 3 && self.once_in(4) {
            let secrets = Self::recent(&self.secrets, now - LAG);
            let mut replica = Replica {
                shown: None,
                mounts: now + MOUNT,
                reports: VecDeque::new(),
                reported: None,
            };
            if let Some(secret) = self.rng.choice(&secrets) {
                replica.take(secret, now);
            }
            if let Some(shown) = &replica.shown {
                let at = now + self.rng.i64(1..=REPORT);
                replica.reports.push_back((at, shown.fingerprint.clone()));
            }
            self.replicas.push(replica);
        } else if self.replicas.len() > 1 && self.once_in(10) {
            let gone = self.rng.usize(..self.replicas.len());
            // A rollout waits until another one is ready.
            let mut others = self.replicas.iter().enumerate().filter(|(n, _)| *n != gone);
            if others.any(|(_, other)| other.shown.as_ref().is_some_and(|l| is_valid(l, now))) {
                self.replicas.remove(gone);
            }
        }
    }

    /// The key of whoever signs cannot be read any more.
    fn lose_the_key(&mut self) {
        let Some(authority) = self.authority.take() else { return };
        let keyless = authority.signer.map(|signer| signer.certificate);
        let previous = authority.previous.into_iter().chain(keyless).collect();
        self.authority = Authority { signer: None, next: authority.next, previous }.if_whole();
    }

    /// Somebody puts back the Secret of authorities as it was long ago.
    fn backup(&mut self) {
        if self.faults == Faults::Loss && self.is_done() {
            if self.once_in(2) {
                self.kept = self.authority.clone();
            } else if let Some(kept) = self.kept.clone() {
                self.authority = Some(kept);
                self.remember();
                // One thing after the other.
                self.quiet = self.now + HOUR;
            }
        }
    }

    fn accidents(&mut self) {
        if self.now < self.quiet {
            return;
        }
        if self.once_in(1000) {
            self.backup();
        }
        if self.once_in(500) {
            self.away = self.now + self.rng.i64(0..HOUR);
            self.watched = Watched::default();
        }
        let jumps = matches!(self.faults, Faults::Clock | Faults::Destruction);
        if jumps && self.once_in(3000) {
            let jumps = [0, 0, 100, -100, 20 * HOUR, -20 * HOUR, 5000 * HOUR, -5000 * HOUR];
            self.wrong = *self.rng.choice(&jumps).unwrap();
        }
        let kinds = match self.faults {
            Faults::None | Faults::Clock => 0,
            Faults::Loss => 6,
            Faults::Destruction => 9,
        };
        if kinds > 0 && self.once_in(1000) {
            match self.rng.u32(..kinds) {
                0 => self.authority = None,
                1 => self.serving = Serving::default(),
                2 => self.serving.leaf = None,
                3 => (self.authority, self.serving) = (None, Serving::default()),
                4 => {
                    if let Some(authority) = &mut self.authority {
                        *authority = Authority { next: None, ..authority.clone() };
                    }
                }
                5 => self.lose_the_key(),
                6 => self.configuration = Configuration::Absent,
                7 => self.configuration = Configuration::Entries(vec![String::new()]),
                _ => self.configuration = Configuration::Entries(vec!["<nonsense>".into(); 2]),
            }
            self.remember();
        }
    }

    fn tick(&mut self) {
        self.now += self.rng.i64(1..30);
        if self.now >= self.away {
            for _ in 0..3 {
                if !self.pass() {
                    break;
                }
            }
        }
        self.nodes();
        let old = self.now - LAG;
        while self.configurations.get(1).is_some_and(|(at, _)| *at < old) {
            self.configurations.pop_front();
        }
        while self.secrets.get(1).is_some_and(|(at, _)| *at < old) {
            self.secrets.pop_front();
        }
    }

    /// Whether every call succeeds, whichever API server asks whichever replica.
    fn broken(&self) -> Option<String> {
        for configuration in Self::recent(&self.configurations, self.now - LAG) {
            let Configuration::Entries(bundles) = configuration else { continue };
            for replica in &self.replicas {
                let ready = replica.shown.iter().filter(|leaf| is_valid(leaf, self.now));
                for leaf in ready {
                    let by = leaf.by.clone().unwrap_or_default();
                    if !bundles.iter().all(|bundle| bundle.contains(&format!("<{by}>"))) {
                        return Some(format!("{leaf:?} and {bundles:?}"));
                    }
                }
            }
        }
        None
    }

    fn is_done(&mut self) -> bool {
        let seen = Seen {
            configuration: self.configuration.clone(),
            shown: Some(self.replicas.iter().filter_map(|r| r.reported.clone()).collect()),
            ..self.see()
        };
        let held = self.watched.clone().look(&seen, self.monotonic(), SETTLE);
        next(&seen, held, self.clock(), SETTLE, &[]) == Step::Rest(Rest::Done)
            && seen.is_shown()
            && seen.serving.leaf.as_ref().is_some_and(|leaf| is_valid(leaf, self.now))
            && self.broken().is_none()
    }

    /// Nothing happens any more that nobody wants.
    fn calm(&mut self) {
        self.wrong = 0;
        self.away = 0;
        if self.configuration == Configuration::Absent {
            self.configuration = Configuration::Entries(vec![String::new(); 2]);
            self.remember();
        }
        let began = self.now;
        while !self.is_done() {
            assert!(self.now - began < 2 * HOUR, "it does not converge: {:?}", self.see());
            self.tick();
        }
    }
}

impl Replica {
    /// As `serve` does: what cannot be served does not take the place of what can.
    fn take(&mut self, secret: &Serving, now: i64) {
        let Some(leaf) = &secret.leaf else { return };
        if is_valid(leaf, now) || self.shown.as_ref().is_none_or(|shown| !is_valid(shown, now)) {
            self.shown = Some(leaf.clone());
        }
    }
}

fn live(seed: u64, faults: Faults, hours: i64) -> World {
    let mut world = World::new(seed, faults);
    world.calm();
    let end = world.now + hours * HOUR;
    while world.now < end {
        world.accidents();
        world.tick();
        if let (true, Some(broken)) = (faults != Faults::Destruction, world.broken()) {
            panic!("a call fails: {broken}");
        }
        let valid = |leaf: &Leaf| is_valid(leaf, world.now);
        let is_ready = |replica: &Replica| replica.shown.as_ref().is_some_and(valid);
        assert!(faults != Faults::None || world.replicas.iter().any(is_ready), "nobody is ready");
    }
    world.calm();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn no_call_ever_fails_through_several_authorities(seed: u64) {
        let world = live(seed, Faults::None, 300);
        let count = |step| world.steps.iter().filter(|other| **other == step).count();
        // Each authority after two thirds of 100 hours, each certificate after two thirds of 30.
        prop_assert!((4..8).contains(&count(Step::Promote)), "{}", count(Step::Promote));
        prop_assert!((4..8).contains(&count(Step::Forget)), "{}", count(Step::Forget));
        prop_assert!((14..30).contains(&count(Step::Issue)), "{}", count(Step::Issue));
    }

    #[test]
    fn no_call_fails_when_the_clock_jumps(seed: u64) {
        live(seed, Faults::Clock, 150);
    }

    #[test]
    fn no_call_fails_when_secrets_are_lost(seed: u64) {
        live(seed, Faults::Loss, 150);
    }

    #[test]
    fn whatever_is_destroyed_it_comes_back(seed: u64) {
        live(seed, Faults::Destruction, 100);
    }
}

/// Nothing is waited for where nothing was before.
#[test]
fn from_nothing_it_takes_three_writes() {
    let mut world = World::new(0, Faults::None);
    world.configuration = Configuration::Entries(vec![String::new(); 2]);
    let mut steps = vec![];
    for _ in 0..4 {
        let seen = Seen {
            authority: world.authority.clone(),
            serving: world.serving.clone(),
            configuration: world.configuration.clone(),
            stranger: None,
            shown: Some(vec![]),
        };
        let step = next(&seen, Held::default(), world.now, SETTLE, &[]);
        steps.push(step);
        if !matches!(step, Step::Rest(_)) {
            world.write(step, None);
        }
    }
    assert_eq!(steps, [Step::Begin, Step::Publish, Step::Issue, Step::Rest(Rest::Done)]);
}

#[test]
fn a_right_that_is_missing_somewhere_does_not_let_the_certificate_expire() {
    let mut world = World::new(0, Faults::None);
    world.configuration = Configuration::Entries(vec![String::new(); 2]);
    world.calm();
    // The authority is due, and so is its last certificate.
    world.now += AUTHORITY / 100 * 70;
    let seen = Seen { shown: None, ..world.see() };
    let step =
        |seen: &Seen, failed: &[Step]| next(seen, Held::default(), world.now, SETTLE, failed);
    assert_eq!(step(&seen, &[]), Step::Announce);
    assert_eq!(step(&seen, &[Step::Announce]), Step::Issue);
    let reset = Configuration::Entries(vec![String::new(); 2]);
    let reset = Seen { configuration: reset, ..seen.clone() };
    assert_eq!(step(&reset, &[Step::Announce]), Step::Publish);
    assert_eq!(step(&reset, &[Step::Announce, Step::Publish]), Step::Issue);
    let unknown = Seen { configuration: Configuration::Unknown, ..seen };
    assert_eq!(step(&unknown, &[Step::Announce]), Step::Issue);
}

#[test]
fn what_nobody_looked_at_has_not_held() {
    let mut world = World::new(0, Faults::None);
    world.configuration = Configuration::Entries(vec![String::new(); 2]);
    world.calm();
    let seen = Seen { shown: Some(vec![]), configuration: Configuration::Absent, ..world.see() };
    let mut watched = Watched::default();
    let mut look = |at| watched.look(&seen, Duration::from_secs(at), SETTLE).trusted;
    assert_eq!(look(10), Some(Duration::ZERO));
    assert_eq!(look(70), Some(Duration::from_secs(60)));
    assert_eq!(look(131), Some(Duration::ZERO));
}

#[test]
fn while_nobody_knows_who_is_trusted_a_certificate_of_an_unknown_authority_stays() {
    let mut world = World::new(0, Faults::None);
    world.configuration = Configuration::Entries(vec![String::new(); 2]);
    world.calm();
    let mut seen = Seen { configuration: Configuration::Unknown, ..world.see() };
    seen.serving.leaf.as_mut().unwrap().by = None;
    let step = next(&seen, Held::default(), world.now, SETTLE, &[]);
    assert_eq!(step, Step::Rest(Rest::Configuration));
    seen.configuration = Configuration::Absent;
    assert_eq!(next(&seen, Held::default(), world.now, SETTLE, &[]), Step::Issue);
}
