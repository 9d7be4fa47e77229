/** Agents, smiths and skills. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const agentErrors = {
  agent_exists: {
    status: 409,
    message: 'Another agent has this slug. Choose another, or update the existing agent.',
  },
  agent_in_use: {
    status: 409,
    message: 'Smiths still run this agent. Move them to another agent or archive them, then delete it.',
  },
  agent_unpublished: {
    status: 409,
    message:
      'The agent has no published version to run. Publish its draft with `POST /v1/agents/{aid}/versions` first.',
  },
  default_agent: {
    status: 409,
    message: 'The default agent of a project cannot be deleted. Change its draft instead, or delete another agent.',
  },
  invalid_percent: {
    status: 422,
    message: 'The share of a rollout is out of range. Send `percent` as a whole number from 0 to 100.',
  },
  invalid_variables: {
    status: 422,
    message:
      'The variables do not fit the agent: a name is malformed or repeated, or a required one has no value. Correct `variables`.',
  },
  smith_exists: {
    status: 409,
    message:
      'A live smith with this `external_id` exists and conflicts with the request. Find it with `GET /v1/smiths?external_id=`, and use or update it.',
  },
  smith_required: {
    status: 422,
    message: 'The request does not say which smith it is for. Send `IC-Smith-Id` or `user`, or use a smith token.',
  },
  smith_unresolved: {
    status: 404,
    message:
      'No smith of this project matches `user` or `IC-Smith-Id`. Correct it, create the smith, or send `IC-Agent-Id` with `user` to have it created.',
  },
  user_required: {
    status: 422,
    message:
      "`IC-Agent-Id` creates a smith for an end user, and the request names none. Send the user's external id in `user`.",
  },
  skill_exists: {
    status: 409,
    message:
      'A skill with this name exists. Add a version to it with `POST /v1/skills/{id}/versions`, or choose another name.',
  },
  skill_in_use: {
    status: 409,
    message:
      'An agent, a smith or an open run still refers to this skill. Remove the references, of which `referenced_by` lists those of agents, then delete it.',
  },
  invalid_bundle: {
    status: 422,
    message:
      'The upload is not a valid bundle: a required file is missing, or a path or type is not allowed. Correct the bundle and upload it again.',
  },
} as const satisfies ErrorTexts;
