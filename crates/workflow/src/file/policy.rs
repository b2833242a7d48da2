//! The policy of a workflow file, with the options of the command line.

use super::{Isolation, PhaseFile, WorkflowFile};
use crate::error::suggestion;
use crate::{OptionError, WorkflowFileError};
use longhaul_core::{PhasePolicy, Span, Usd, WorkflowLimits, WorkflowPolicy};

/// Options of the command line. Each replaces a setting of the file; the default replaces none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopOptions {
    /// Name of the phase that the first iteration starts with.
    pub from: Option<String>,
    /// Name of the only phase that takes place.
    pub only: Option<String>,
    /// Names of the phases that never take place.
    pub skip: Vec<String>,
    /// Maximum number of iterations, at least 1.
    pub iterations_max: Option<u32>,
    /// Maximum number of live runs, at least 1.
    pub parallel_max: Option<u32>,
    /// Whether all runs take place one after another, whatever the file and `parallel_max` say.
    pub serial: bool,
    /// Budget of the workflow. Zero is unlimited.
    pub budget: Option<Usd>,
    /// Working time of the workflow. Zero is unlimited.
    pub time: Option<Span>,
}

impl WorkflowFile {
    /// Returns the policy.
    ///
    /// # Errors
    /// Returns an error if a required parameter has no value, or if an option names an unknown phase.
    pub fn policy(&self, options: &LoopOptions) -> Result<WorkflowPolicy, WorkflowFileError> {
        self.parameters.require(&self.source)?;
        let parallel_max =
            if options.serial { 1 } else { options.parallel_max.unwrap_or(self.parallel_max).max(1) };
        let limits = WorkflowLimits {
            budget: options
                .budget
                .map_or(self.limits.budget, |budget| Some(budget).filter(|it| *it > Usd::ZERO)),
            time: options.time.map_or(self.limits.time, |time| Some(time).filter(|it| *it > Span::ZERO)),
        };
        Ok(WorkflowPolicy {
            phases: self.phases.iter().map(|phase| phase.policy(parallel_max)).collect(),
            iterations_max: options.iterations_max.unwrap_or(self.iterations_max).max(1),
            until_after: self.until.as_ref().map(|until| until.after),
            from: self.option_phase(OptionError::From, options.from.as_deref())?,
            only: self.option_phase(OptionError::Only, options.only.as_deref())?,
            skipped: self.skipped(&options.skip)?,
            parallel_max,
            limits,
            start_gap: self.start_gap,
        })
    }

    /// Returns the indices of the phases that never take place.
    fn skipped(&self, names: &[String]) -> Result<Vec<usize>, WorkflowFileError> {
        let indices = names.iter().map(|name| self.option_phase(OptionError::Skip, Some(name)));
        let indices: Vec<usize> = indices.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        if (0..self.phases.len()).all(|phase| indices.contains(&phase)) {
            let message = "every phase of the workflow is skipped";
            let error = WorkflowFileError::new(message, "leave at least one phase");
            return Err(error.about(OptionError::SkipsAll));
        }
        Ok(indices)
    }

    /// Returns the index of the phase that an option names.
    fn option_phase(
        &self,
        option: fn(String) -> OptionError,
        name: Option<&str>,
    ) -> Result<Option<usize>, WorkflowFileError> {
        let Some(name) = name else { return Ok(None) };
        match self.phases.iter().position(|phase| phase.name == name) {
            Some(index) => Ok(Some(index)),
            None => {
                let names: Vec<&str> = self.phases.iter().map(|phase| phase.name.as_str()).collect();
                let message = format!("there is no phase `{name}` in {}", self.source.path.display());
                let error = WorkflowFileError::new(message, suggestion("phases", name, &names));
                Err(error.about(option(name.to_owned())))
            }
        }
    }
}

impl PhaseFile {
    fn policy(&self, parallel_max: u32) -> PhasePolicy {
        PhasePolicy {
            name: self.name.clone(),
            needs: self.needs.clone(),
            has_items: self.fan_out.is_some(),
            parallel_max: self.parallel_max.unwrap_or(parallel_max).min(parallel_max),
            items_max: self.items_max,
            has_worktrees: self.isolation == Isolation::Worktree,
            budget: self.budget,
            time: self.time,
            reactions: self.reactions.clone(),
        }
    }
}
