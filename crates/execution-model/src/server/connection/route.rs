//! What each target is answered.

use workload::Job;
use workload::http::{self, ContentType, Response, Status, Target};

use super::reply::{OwnAnswer, Reply};
use super::{Connection, Ending, Work};

impl Connection {
    /// Answers a request, or hands its job out.
    pub(super) fn route(
        &mut self,
        request: http::Request,
        own: &mut impl FnMut(&Target) -> Option<OwnAnswer>,
    ) -> Option<Work> {
        let reply = Reply {
            keep_alive: request.keep_alive,
            announce_keep_alive: request.announce_keep_alive,
            head_only: request.head_only,
        };
        if let Some(OwnAnswer { status, content_type, body }) = own(&request.target) {
            self.respond(reply, status, content_type, body.as_bytes());
            return None;
        }
        match request.target {
            Target::Run(job) => return self.admit(job, reply),
            Target::Healthz => {
                let (status, body) = if self.state().is_draining() {
                    (Status::Unavailable, "draining\n")
                } else {
                    (Status::Ok, "ok\n")
                };
                self.respond(reply, status, ContentType::Text, body.as_bytes());
            }
            Target::Metrics => {
                let metrics = self.state().metrics();
                self.respond(reply, Status::Ok, ContentType::Prometheus, metrics.as_bytes());
            }
            Target::Image(_) => {
                self.refuse(
                    reply,
                    Status::NotFound,
                    "no pipeline is served here; `serve --pipeline POLICY` does",
                );
            }
            Target::Wrong(refusal) => self.refuse(reply, refusal.status, &refusal.reason),
        }
        None
    }

    fn admit(&mut self, job: Job, reply: Reply) -> Option<Work> {
        if let Some(reason) = self.state().refuses(job.strategy) {
            let reason = format!("strategy {} cannot be used here: {reason}", job.strategy);
            self.refuse(reply, Status::BadRequest, &reason);
            return None;
        }
        match self.open.state().admit() {
            Some(place) => {
                self.running = Some(reply);
                Some(Work { job, place })
            }
            None => {
                let reason = b"the in-flight limit is reached, or the server is draining\n";
                self.respond(reply, Status::Unavailable, ContentType::Text, reason);
                None
            }
        }
    }

    pub(super) fn refuse(&mut self, reply: Reply, status: Status, reason: &str) {
        self.state().request_refused();
        self.respond(reply, status, ContentType::Text, format!("{reason}\n").as_bytes());
    }

    pub(super) fn respond(&mut self, reply: Reply, status: Status, content_type: ContentType, body: &[u8]) {
        let closes = self.closes(reply);
        let response = Response { status, content_type, body, ..reply.response(closes) };
        http::write_response(&mut self.output, &response);
    }

    /// Decides whether the connection ends with this answer, and remembers it.
    pub(super) fn closes(&mut self, reply: Reply) -> bool {
        let closes = !reply.keep_alive || self.state().is_draining();
        if closes && self.ending == Ending::No {
            self.ending = Ending::AfterOutput;
        }
        closes
    }
}
