/**
 * The platform's error catalogue: every `code` a client may branch on. The set is closed, and `docs/errors.md` has one
 * row for each code (a test ties the two together).
 *
 * How a status is chosen where the interface leaves it open:
 *
 *   400  what a protocol fixes: an unserved API version, OAuth's invalid_scope (RFC 6749 section 4.1.2.1)
 *   401  the caller, or the sender of an inbound call, is not proven
 *   402  money: a card, credits or a budget is wanting
 *   403  the caller is known and may not
 *   404  a name that nothing visible answers to, wherever it stands: in the path, the query, a header or the body
 *   409  an object of the project is in a state that forbids this: it exists, is in use, has ended
 *   413  too large, 429 too fast
 *   422  values that do not validate, combinations that are not offered, and a setup that is missing
 *   500  a fault of the platform
 *   502  a fault of a service the platform called: a model, a tool server, a messaging or payment provider
 *   503  a part of the platform is not answering, and repeating the request will help
 */
import { defineErrors } from '../kernel/http/errors.ts';
import { agentErrors } from './errors/agents.ts';
import { authenticationErrors } from './errors/authentication.ts';
import { billingErrors } from './errors/billing.ts';
import { channelSetupErrors } from './errors/channel-setup.ts';
import { channelErrors } from './errors/channels.ts';
import { connectionErrors } from './errors/connections.ts';
import { deploymentErrors } from './errors/deployments.ts';
import { idempotencyErrors } from './errors/idempotency.ts';
import { knowledgeErrors } from './errors/knowledge.ts';
import { loadErrors } from './errors/load.ts';
import { modelKeyErrors } from './errors/model-keys.ts';
import { requestErrors } from './errors/requests.ts';
import { runErrors } from './errors/runs.ts';
import { scheduleErrors } from './errors/schedules.ts';
import { toolErrors } from './errors/tools.ts';

export const platformErrors = defineErrors(
  authenticationErrors,
  requestErrors,
  idempotencyErrors,
  loadErrors,
  billingErrors,
  agentErrors,
  runErrors,
  modelKeyErrors,
  toolErrors,
  connectionErrors,
  deploymentErrors,
  channelErrors,
  channelSetupErrors,
  knowledgeErrors,
  scheduleErrors,
);
