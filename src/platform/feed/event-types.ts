/** Every type that the feed and webhooks carry, and how a subscription or a filter selects among them. */
export const EVENT_TYPES = [
  'run.paused',
  'run.completed',
  'run.failed',
  'tool.executing',
  'tool.completed',
  'sandbox.started',
  'approval.required',
  'approval.resolved',
  'connection.required',
  'unbound_message',
  'mcp_server.created',
  'mcp_server.updated',
  'mcp_server.deleted',
  'vector_store.created',
  'vector_store.deleted',
  'vector_store.file.completed',
  'vector_store.file.failed',
  'budget.threshold',
  'credit.exhausted',
  'deployment.bound',
  'deployment.inbound',
  'slack.app_provisioned',
  'slack.install',
  'slack.uninstalled',
  'email.send_failed',
  'webhook.test',
  // Administrative.
  'token.created',
  'token.revoked',
  'provider.updated',
  'provider.deleted',
  'model_key.updated',
  'model_key.deleted',
  'sandbox_secret.updated',
  'sandbox_secret.deleted',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'agent.created',
  'agent.updated',
  'agent.deleted',
  'agent.version_published',
  'agent.rollout_updated',
  'smith.created',
  'smith.updated',
  'smith.deleted',
  'skill.created',
  'skill.updated',
  'skill.version_created',
  'skill.version_deleted',
  'skill.deleted',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Whether a selector means this type: the type itself, or its family with or without the last dot (`slack`, `agent.`). */
export function selectsEventType(selector: string, type: string): boolean {
  return selector === type || type.startsWith(selector.endsWith('.') ? selector : `${selector}.`);
}

/** The types that a selector means; none when it names nothing known. */
export function eventTypesOf(selector: string): EventType[] {
  return EVENT_TYPES.filter((type) => selectsEventType(selector, type));
}
