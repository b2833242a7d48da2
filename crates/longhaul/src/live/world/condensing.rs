//! Has older work condensed by a model, between two attempts. Whatever goes wrong here is no more than the failure of
//! that: the record is then told without it.

use super::LiveWorld;
use crate::SuperviseError;
use crate::crash::{self, Point};
use crate::live::child::Launch;
use crate::live::condenser::{Condenser, left_by};
use crate::live::found::exit_of;
use crate::live::sweep::sweep;
use crate::seeding::transcript_of;
use longhaul_agent::{About, CONDENSE_TOKENS_MAX, Invocation, Reason, Summary, condensing_prompt};
use longhaul_core::{Condensation, Event, Evidence, Exit, Say, SpawnError, SpawnPlan};
use longhaul_store::AttemptDir;
use std::future;
use std::io;

/// A model at work on older work.
pub(super) struct Condensing {
    process: Condenser,
    /// Where it writes.
    dir: AttemptDir,
}

impl Condensing {
    pub(super) fn is_gone(&self) -> bool {
        self.process.is_gone()
    }
}

impl LiveWorld<'_> {
    /// Starts a model on the older work for this attempt, if there is any.
    pub(super) fn condense(&mut self, plan: &SpawnPlan) {
        let Some(invocation) = self.condensing_invocation(plan) else {
            return self.events.push_back(Event::Condensed(Condensation::NotNeeded));
        };
        match self.start_condenser(plan, invocation) {
            Ok(condensing) => self.condensing = Some(condensing),
            Err(error) => {
                let evidence = Evidence { startup: error.startup(), ..Evidence::of_exit(Exit::NeverSpawned) };
                self.events.push_back(Event::Condensed(Condensation::Ended(evidence)));
            }
        }
    }

    /// How to ask for a summary; nothing if there is nothing to summarise, or nobody to do it.
    fn condensing_invocation(&self, plan: &SpawnPlan) -> Option<Invocation> {
        let (order, dialect) = (&self.setup.order, self.setup.dialect.as_ref());
        let (Some(model), Say::TaskAgain(fault)) = (&order.handoff_summary, plan.say) else { return None };
        let transcript = transcript_of(&self.setup.dir, dialect, &order.prompt, plan.attempt - 1).ok()?;
        let task = order.task();
        let about = About::unlimited(&task, Reason::Fault(fault));
        let prompt = condensing_prompt(&transcript, &about, order.seed_tokens, CONDENSE_TOKENS_MAX)?;
        Some(dialect.condense(order, plan.attempt, model, &prompt))
    }

    fn start_condenser(&self, plan: &SpawnPlan, invocation: Invocation) -> Result<Condensing, SpawnError> {
        let no_room = |_| SpawnError::NoResources;
        let dir = self.setup.dir.attempt(plan.attempt).create_summary().map_err(no_room)?;
        let output = (dir.create_stream().map_err(no_room)?, dir.create_stderr().map_err(no_room)?);
        let launch = Launch::of(&invocation, &self.setup.environment, &self.setup.mark, output);
        // For people.
        let _ = dir.write_argv(&launch.argv());
        let (process, proc) = Condenser::start(launch, invocation.stdin).map_err(|(kind, _)| kind)?;
        crash::agent_is(proc.pid);
        crash::pass(Point::Spawned);
        Ok(Condensing { process, dir })
    }

    /// Ends it if it lives, and whatever it left behind, and says what came of it.
    pub(super) async fn end_condensing(&mut self) -> Result<(), SuperviseError> {
        if let Some(Condensing { mut process, dir }) = self.condensing.take() {
            let exit = process.end(&self.setup.mark).await?;
            let evidence = self.read_condensed(dir, exit);
            self.events.push_back(Event::Condensed(Condensation::Ended(evidence)));
        }
        Ok(())
    }

    /// What a dead supervisor left of it, of which nothing goes on.
    pub(super) async fn look_at_condensing(&mut self, dir: &AttemptDir) -> Result<Evidence, SuperviseError> {
        sweep(&self.setup.mark).await?;
        let dir = dir.summary();
        let exit = exit_of(&dir);
        Ok(self.read_condensed(dir, exit))
    }

    fn read_condensed(&mut self, dir: AttemptDir, exit: Exit) -> Evidence {
        let files = (&*dir.stream_path(), &*dir.stderr_path());
        let (evidence, decoder) = left_by(self.setup.dialect.as_ref(), files, exit);
        self.ended.push((dir, decoder));
        evidence
    }

    /// The summary that this attempt is told, if it is told one. One that cannot be read is told by nobody.
    pub(super) fn summary_for(&self, plan: &SpawnPlan) -> Option<Summary> {
        let model = self.setup.order.handoff_summary.clone().filter(|_| plan.condensed)?;
        let dir = self.setup.dir.attempt(plan.attempt).summary();
        let files = (&*dir.stream_path(), &*dir.stderr_path());
        let (_, decoder) = left_by(self.setup.dialect.as_ref(), files, Exit::Unseen);
        Some(Summary { model, text: decoder.glance().result.clone()? })
    }
}

/// Waits for the end of what condenses; for ever, if nothing does.
pub(super) async fn gone(condensing: &mut Option<Condensing>) -> io::Result<()> {
    match condensing {
        Some(condensing) => condensing.process.gone().await.map(drop),
        None => future::pending().await,
    }
}
