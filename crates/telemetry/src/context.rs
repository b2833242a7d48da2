//! The ids of a run's trace, which every supervisor of the run goes on with.
//!
//! They are drawn once, or taken over from whoever began the run (`TRACEPARENT`), and kept in the run's directory. The ids of
//! the spans follow from them: whoever tells of the same attempt tells of the same span.

use longhaul_store::{Durability, RunDir, replace_json};
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

/// What `trace.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    /// The trace's id, in hexadecimal digits as in a `traceparent`.
    trace_id: String,
    /// The span that the run is a part of, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Parent {
    /// Its id, in hexadecimal digits.
    span_id: String,
    /// Whether it is recorded: then so is the run.
    sampled: bool,
}

impl Trace {
    /// That of this run: as it was begun, else part of what `traceparent` names, else its own.
    pub(crate) fn new(dir: &RunDir, traceparent: Option<&str>) -> Trace {
        let path = dir.trace_path();
        let known = fs::read(&path).ok().and_then(|bytes| serde_json_of(&bytes));
        known.unwrap_or_else(|| {
            let trace = traceparent.and_then(Trace::within).unwrap_or_else(Trace::random);
            // One that cannot be kept serves as long as this supervisor lives.
            let _ = replace_json(&path, &trace, Durability::Process);
            trace
        })
    }

    fn random() -> Trace {
        Trace { trace_id: RandomIdGenerator::default().new_trace_id().to_string(), parent: None }
    }

    /// A part of what a `traceparent` names: `00-TRACE-SPAN-FLAGS`.
    fn within(traceparent: &str) -> Option<Trace> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace_id, span_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // The first version has four parts; later ones may have more.
        let is_whole = version.len() == 2 && version != "ff" && (version != "00" || parts.next().is_none());
        let flags = u8::from_str_radix(flags, 16).ok().filter(|_| flags.len() == 2)?;
        let parent = Parent { span_id: span_id.to_owned(), sampled: flags & 1 == 1 };
        let trace = Trace { trace_id: trace_id.to_owned(), parent: Some(parent) };
        (is_whole && trace.id().is_some() && trace.parent().is_some()).then_some(trace)
    }

    fn id(&self) -> Option<TraceId> {
        let id = TraceId::from_hex(&self.trace_id).ok().filter(|_| self.trace_id.len() == 32);
        id.filter(|id| *id != TraceId::INVALID)
    }

    fn parent(&self) -> Option<SpanId> {
        let span_id = &self.parent.as_ref()?.span_id;
        let id = SpanId::from_hex(span_id).ok().filter(|_| span_id.len() == 16);
        id.filter(|id| *id != SpanId::INVALID)
    }

    /// The id of the span that is called so within the run.
    pub(crate) fn span(&self, called: &str) -> (TraceId, SpanId) {
        let digest =
            Sha256::new().chain_update(&self.trace_id).chain_update("\0").chain_update(called).finalize();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        (self.id().unwrap_or(TraceId::INVALID), SpanId::from_bytes(bytes))
    }

    /// What the run is a part of.
    pub(crate) fn parent_context(&self) -> Context {
        let sampled = self.parent.as_ref().is_some_and(|parent| parent.sampled);
        match (self.id(), self.parent()) {
            (Some(trace), Some(span)) => within(trace, span, sampled, true),
            _ => Context::new(),
        }
    }
}

/// The context of whatever is a part of this span.
pub(crate) fn within(trace: TraceId, span: SpanId, sampled: bool, is_remote: bool) -> Context {
    let flags = TraceFlags::default().with_sampled(sampled);
    Context::new().with_remote_span_context(SpanContext::new(
        trace,
        span,
        flags,
        is_remote,
        TraceState::default(),
    ))
}

fn serde_json_of(bytes: &[u8]) -> Option<Trace> {
    let trace: Trace = serde_json::from_slice(bytes).ok()?;
    trace.id().is_some().then_some(trace)
}

/// Gives the next span the ids that were settled for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids(Arc<Mutex<Option<(TraceId, SpanId)>>>);

impl Ids {
    /// The span that is begun next has these.
    pub(crate) fn settle(&self, ids: (TraceId, SpanId)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(ids);
    }

    fn settled(&self) -> Option<(TraceId, SpanId)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        self.settled().map_or_else(|| RandomIdGenerator::default().new_trace_id(), |(trace, _)| trace)
    }

    fn new_span_id(&self) -> SpanId {
        self.settled().map_or_else(|| RandomIdGenerator::default().new_span_id(), |(_, span)| span)
    }
}

#[cfg(test)]
mod tests {
    use super::Trace;
    use opentelemetry::trace::TraceContextExt;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_run_is_a_part_of_what_began_it() {
        let trace = Trace::within(PARENT).expect("it is one");
        let outside = trace.parent_context();
        let context = outside.span().span_context().clone();
        assert_eq!(context.span_id().to_string(), "b7ad6b7169203331");
        assert!(context.is_sampled() && context.is_remote());
        let (id, attempt) = trace.span("attempt 1");
        assert_eq!(id.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(attempt, trace.span("attempt 1").1, "the same span, whoever tells of it");
        assert_ne!(attempt, trace.span("attempt 2").1);
    }

    #[test]
    fn what_is_no_traceparent_is_none() {
        for text in [
            "",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        ] {
            assert_eq!(Trace::within(text), None, "{text}");
        }
        assert!(Trace::within(&PARENT.replace("00-", "01-").replace("-01", "-01-more")).is_some());
    }
}
