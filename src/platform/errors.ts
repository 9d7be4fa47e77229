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
 *
 * The type follows from the status: 401 authentication_error, 403 permission_error, 429 rate_limit_error,
 * 5xx api_error, and invalid_request_error for the rest.
 */
import type { ErrorCatalogue } from '../kernel/http/errors.ts';

export const platformErrors = {
  // Authentication and tokens. 401: who is calling is not established. 403: the caller is known and may not.
  unauthenticated: {
    status: 401,
    type: 'authentication_error',
    message:
      'The request carries no valid bearer token: it is missing, malformed, expired or revoked. Send `Authorization: Bearer <token>`, and mint a new token if this one has ended.',
  },
  admin_required: {
    status: 403,
    type: 'permission_error',
    message:
      'This operation handles credentials and needs a token that carries `tenant:*`. Call it from your server with a tenant-admin token.',
  },
  tenant_token_required: {
    status: 403,
    type: 'permission_error',
    message:
      'This operation works inside a project and needs a tenant-admin token. A smith token and an organization key cannot stand in for it.',
  },
  organization_required: {
    status: 403,
    type: 'permission_error',
    message: 'This operation belongs to the organization. Call it with an organization key.',
  },
  insufficient_scope: {
    status: 403,
    type: 'permission_error',
    message: 'The token lacks a scope that this operation needs; `details` names it. Mint a token that includes it.',
  },
  smith_mismatch: {
    status: 403,
    type: 'permission_error',
    message:
      'This smith token is bound to another smith. Use a token of the smith that the request names, or a tenant-admin token.',
  },
  forbidden_target: {
    status: 403,
    type: 'permission_error',
    message:
      'This token may not deploy that target: a smith token reaches only its own smith. Target that smith, or use a tenant-admin token.',
  },
  permissions_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A smith token is minted with an explicit list of scopes. Send `permissions` with at least one scope.',
  },
  invalid_token_scope: {
    status: 422,
    type: 'invalid_request_error',
    message: "The token's `scope` is not one that can be minted here. Use `smith` or `admin`.",
  },
  minting_unavailable: {
    status: 503,
    type: 'api_error',
    message:
      'Tokens cannot be minted at the moment because the signing key is not available. Try again shortly; if it persists, ask the operator to check the signing key.',
  },

  // The request as a whole. Values that do not validate are 422, malformed JSON included. Unknown routes are
  // not_found.
  invalid_request: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The request does not validate. Correct the field named in `param`, or the body as a whole if none is named, and send it again.',
  },
  unsupported_api_version: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'The version in `IC-Api-Version` is not served. Send a live version, or leave the header out to get the latest.',
  },
  not_found: {
    status: 404,
    type: 'invalid_request_error',
    message:
      'Nothing with this address is visible to this token. Check the path and the id, and that the token belongs to the right project.',
  },
  payload_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The body is larger than this operation accepts. Send less, or split it into several requests.',
  },
  unsupported: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The request is well formed but asks for something that is not offered here. Leave out the member named in `param`, or use another operation.',
  },
  invalid_cursor: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The cursor is not one that this list issued. Pass `next_cursor` back unchanged, or leave `cursor` out to start at the first page.',
  },
  invalid_limit: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The limit is outside the accepted range. Send a number within the range documented for this operation.',
  },
  invalid_name: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The name is empty, too long, or contains characters that are not allowed. Choose another name.',
  },
  name_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This object needs a name. Send a `name` that is not empty.',
  },
  invalid_slug: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The slug may contain lowercase letters, digits and hyphens only. Correct it, or leave `slug` out.',
  },
  invalid_url: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The URL must be `https` and its host must resolve to public addresses only. Use an address that is reachable from the internet.',
  },
  url_required: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'An address to call is needed. Send `url`; for an MCP server, `catalog` with the slug of a catalog entry will do instead.',
  },
  empty_patch: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The body changes nothing. Send at least one field to change.',
  },
  nothing_to_update: {
    status: 422,
    type: 'invalid_request_error',
    message:
      "None of the fields in the body can be changed on this object. Send at least one that can, as the operation's schema lists them.",
  },
  invalid_state: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'This step does not fit the present state: the sign-in has been used or has expired, or the object has moved on. Start the sign-in again, or read the object and go on from its present status.',
  },

  // Idempotency. Both are conflicts with a stored request. Only the first clears by waiting.
  idempotency_in_progress: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'The first request with this `Idempotency-Key` is still being carried out. Wait a moment and repeat the same request with the same key.',
  },
  idempotency_key_reused: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'This `Idempotency-Key` was used for a different request. Use a new key for each new request, and repeat a key only with an identical one.',
  },

  // Rate, load and availability. 429 is the caller's pace, 503 the platform's condition; each clears by itself.
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests. Wait for the number of seconds in `Retry-After`, then go on more slowly.',
  },
  concurrency_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'The project has as many runs in flight as it may. Wait for one to end, or for the number of seconds in `Retry-After`, and start this one again.',
  },
  service_overloaded: {
    status: 503,
    type: 'api_error',
    message: 'The platform is shedding load. Wait for the number of seconds in `Retry-After` and repeat the request.',
  },
  storage_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'File storage is not answering. Repeat the request shortly.',
  },
  embedding_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'The embedding model is not answering. Repeat the request shortly.',
  },
  broker_unavailable: {
    status: 503,
    type: 'api_error',
    message:
      'The service that holds the credentials of connected accounts is not answering. Repeat the request shortly.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    message:
      'Something failed on our side. Repeat the request, and if it fails again, report it with the value of `X-Request-Id`.',
  },

  // Budgets, usage and billing. 402 is invalid_request_error, not rate_limit_error: waiting and repeating does not
  // help, so no client should back off and retry.
  budget_exceeded: {
    status: 402,
    type: 'invalid_request_error',
    message:
      'A budget with action `block` is spent. Raise its limit or change its action with `PATCH /v1/budgets/{bid}`, or wait for the next period.',
  },
  card_required: {
    status: 402,
    type: 'invalid_request_error',
    message:
      'The organization has no card on file, and the project cannot run before it has. Add one with `POST /v1/organization/billing/setup`.',
  },
  insufficient_credits: {
    status: 402,
    type: 'invalid_request_error',
    message:
      "The organization's wallet is empty. Top it up with `POST /v1/organization/billing/checkout`, or turn on automatic reload.",
  },
  budget_exists: {
    status: 409,
    type: 'invalid_request_error',
    message: 'There is already a budget for this scope and period. Change that one with `PATCH /v1/budgets/{bid}`.',
  },
  scope_id_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A budget for an agent, a smith or a customer must say which one. Send its id in `scope_id`.',
  },
  invalid_action: {
    status: 422,
    type: 'invalid_request_error',
    message: "The budget's action is not known. Use `warn` or `block`.",
  },
  invalid_period: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The period is not known. Use `monthly` for a budget, and a period as this operation documents it for usage.',
  },
  invalid_group_by: {
    status: 422,
    type: 'invalid_request_error',
    message: 'Usage cannot be grouped that way. Use one of the values that this operation documents for `group_by`.',
  },
  invalid_meter: {
    status: 422,
    type: 'invalid_request_error',
    message: "The meter's name is empty or malformed. Correct the name of the meter in the event.",
  },
  invalid_quantity: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The quantity must be a finite number that is not negative. Correct the quantity in the event.',
  },
  invalid_amount: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The amount is outside the accepted range. Send `amount_cents` as a whole number of cents within it.',
  },
  invalid_threshold: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The threshold is outside the accepted range. Send `threshold_cents` as a whole number of cents within it.',
  },
  invalid_code: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'This code cannot be redeemed: it is not known or no longer valid. Check the spelling, or ask for another code.',
  },
  code_already_redeemed: {
    status: 409,
    type: 'invalid_request_error',
    message: 'This code has been redeemed. Check the ledger, or use another code.',
  },
  invalid_return_url: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The return address must be an absolute `https` URL that this installation accepts. Correct `return_url`.',
  },
  no_customer: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The organization has no account with the payment service yet. Create it with `POST /v1/organization/billing/setup` first.',
  },
  no_saved_card: {
    status: 422,
    type: 'invalid_request_error',
    message: 'There is no saved card to charge. Add one with `POST /v1/organization/billing/setup` first.',
  },
  stripe_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message: 'Card payments are not set up on this installation. Ask its operator to configure Stripe.',
  },
  stripe_error: {
    status: 502,
    type: 'api_error',
    message:
      'The payment service refused or failed the request. Check the ledger before you repeat it, so that nothing is paid twice.',
  },
  bad_webhook: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The event cannot be read. Check that the sender is configured for this endpoint and sends the event unchanged.',
  },

  // Agents, smiths and skills.
  agent_exists: {
    status: 409,
    type: 'invalid_request_error',
    message: 'Another agent has this slug. Choose another, or update the existing agent.',
  },
  agent_in_use: {
    status: 409,
    type: 'invalid_request_error',
    message: 'Smiths still run this agent. Move them to another agent or archive them, then delete it.',
  },
  agent_unpublished: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'The agent has no published version to run. Publish its draft with `POST /v1/agents/{aid}/versions` first.',
  },
  default_agent: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The default agent of a project cannot be deleted. Change its draft instead, or delete another agent.',
  },
  invalid_percent: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The share of a rollout is out of range. Send `percent` as a whole number from 0 to 100.',
  },
  invalid_variables: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The variables do not fit the agent: a name is malformed or repeated, or a required one has no value. Correct `variables`.',
  },
  smith_exists: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'A live smith with this `external_id` exists and conflicts with the request. Find it with `GET /v1/smiths?external_id=`, and use or update it.',
  },
  smith_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The request does not say which smith it is for. Send `IC-Smith-Id` or `user`, or use a smith token.',
  },
  smith_unresolved: {
    status: 404,
    type: 'invalid_request_error',
    message:
      'No smith of this project matches `user` or `IC-Smith-Id`. Correct it, create the smith, or send `IC-Agent-Id` with `user` to have it created.',
  },
  user_required: {
    status: 422,
    type: 'invalid_request_error',
    message:
      "`IC-Agent-Id` creates a smith for an end user, and the request names none. Send the user's external id in `user`.",
  },
  skill_exists: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'A skill with this name exists. Add a version to it with `POST /v1/skills/{id}/versions`, or choose another name.',
  },
  skill_in_use: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'An agent or a smith still refers to this skill. Remove the references that `referenced_by` lists, then delete it.',
  },
  invalid_bundle: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The upload is not a valid bundle: a required file is missing, or a path or type is not allowed. Correct the bundle and upload it again.',
  },

  // Runs and the model. A fault in what the turn depends on (model, tools) is 502; of the platform itself, 500.
  conversation_locked: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'This smith is busy with another turn, and it takes one at a time. Wait for the number of seconds in `Retry-After`, or for the other run to end, and repeat the request.',
  },
  invalid_input: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The input is empty, or one of its messages or parts has a form that is not accepted. Correct the entry named in `param`.',
  },
  too_many_inputs: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The request holds more inputs than one call takes. Split them into several requests.',
  },
  invalid_response_format: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The response format is not one that is supported. Use `text`, `json_object`, or `json_schema` with a name and a schema.',
  },
  schema_error: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A JSON Schema in the request cannot be used. Correct the schema that `param` names.',
  },
  invalid_tool_choice: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The tool choice is not valid. Use `auto`, `none`, `required`, or name a function that `tools` contains.',
  },
  invalid_reasoning_effort: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The reasoning effort is not known. Use one of the values that this operation documents, or leave it out.',
  },
  unsupported_tools: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The request offers a tool of a type that is not supported here. Use `function`, `file_search` or `mcp`.',
  },
  unsupported_background: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'This request cannot run in the background. Leave `background` out, or send it to `POST /v1/responses` for a smith.',
  },
  conversation_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message:
      'No conversation with this id is visible to this token. Correct the id, or create one with `POST /v1/conversations`.',
  },
  run_not_paused: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The run is not waiting for anything. Read the run, and submit only while its status is `paused`.',
  },
  run_cancelled: {
    status: 409,
    type: 'invalid_request_error',
    message: 'The run was cancelled and does not go on. Start a new run, or replay this one.',
  },
  invalid_kind: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The kind is not known. Use one of the values that this operation documents.',
  },
  invalid_decision: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The decision is not known. Use `approve` or `reject`.',
  },
  replay_unsupported: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This run cannot be replayed. Start a new run with the same input instead.',
  },
  resume_failed: {
    status: 500,
    type: 'api_error',
    message:
      'The run could not be resumed from its last step. Read the run; if it is still paused, submit again, otherwise replay it.',
  },
  run_failed: {
    status: 500,
    type: 'api_error',
    message: 'The run ended in an error. Read its events for the step that failed, then start a new run or replay it.',
  },
  model_key_missing: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'There is no key for the provider of this model. Save one with `PUT /v1/tenant/model_keys/{provider}`, or choose another model.',
  },
  bedrock_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'Amazon Bedrock is not set up for this project or installation. Save its credentials as a model key, or choose another model.',
  },
  model_request_failed: {
    status: 502,
    type: 'api_error',
    message:
      "The provider of the model refused or failed the request. Check the provider's status and the key's quota, then repeat the request or choose another model.",
  },
  structured_output_failed: {
    status: 502,
    type: 'api_error',
    message:
      'The model did not produce output that matches the schema. Repeat the request, simplify the schema, or choose another model.',
  },
  tool_loop_failed: {
    status: 502,
    type: 'api_error',
    message:
      "The turn could not be finished because its tool calls kept failing. Read the run's events, correct the tool, and start a new run.",
  },

  // Model keys and other credentials.
  unknown_provider: {
    status: 404,
    type: 'invalid_request_error',
    message: 'No provider has this name. Use a name from the list of providers.',
  },
  empty_key: {
    status: 422,
    type: 'invalid_request_error',
    message: "The key is empty. Send the provider's key in `api_key`.",
  },
  workspace_id_unsupported: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This provider has no workspaces. Leave `workspace_id` out.',
  },
  secret_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This kind of authorization needs a secret. Send it in `secret`, or choose a kind that needs none.',
  },
  empty_token: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The token is empty. Send the access token that the provider issued.',
  },
  empty_credentials: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The credentials are empty. Send every member that this kind of credential needs.',
  },
  unsupported_credential: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'Credentials of this kind are not supported for this provider. Use another `kind`, or connect the account with `POST /v1/smiths/{sid}/connections/authorize`.',
  },

  // MCP servers, approvals and the catalog. A fault of the remote server is 502. auth_required is 422, not 401: the
  // caller's own token is in order.
  unknown_catalog_entry: {
    status: 404,
    type: 'invalid_request_error',
    message: 'The catalog has no entry with this slug. Take a slug from `GET /v1/catalog`.',
  },
  invalid_auth_kind: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The kind of authorization is not known. Use one of the values that this operation documents for `auth.kind`.',
  },
  invalid_client_mode: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The client mode is not known or does not suit this kind of authorization. Use one of the values that this operation documents for `auth.client_mode`.',
  },
  invalid_approval_policy: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The approval policy is not valid. Send a list of rules, each with a `match` that is not empty.',
  },
  unsupported_policy_rule: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'A rule of the approval policy asks for something that is not supported. Correct the `require` of the rule that `param` names.',
  },
  auth_required: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The MCP server asks for authorization that its registration does not give. Set `auth` on the server, then refresh it.',
  },
  auth_not_configured: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'This provider or MCP server is not set up for connecting accounts. Save an OAuth client with `PUT /v1/tenant/providers/{provider}`, or set the `auth` of the server.',
  },
  client_unavailable: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'There is no usable OAuth client for this sign-in. Save one with `PUT /v1/tenant/providers/{provider}`, choose another client mode, or correct the document at `client_id`.',
  },
  connect_failed: {
    status: 502,
    type: 'api_error',
    message: 'No connection to the remote server could be made. Check its address and that it is up, then try again.',
  },
  discovery_failed: {
    status: 502,
    type: 'api_error',
    message:
      'The remote server answered, but its tools or its sign-in could not be discovered. Check that the address speaks MCP, then refresh it.',
  },
  session_not_found: {
    status: 404,
    type: 'invalid_request_error',
    message:
      'There is no such session, or it has ended. Start a new one: `initialize` on an MCP deployment, a new checkout for a payment.',
  },
  session_mismatch: {
    status: 403,
    type: 'permission_error',
    message: 'This session belongs to another caller. Use the token that started it, or start a session of your own.',
  },

  // Connections and OAuth.
  invalid_scope: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'The requested scopes are not valid. Ask only for scopes that are offered, and add `openid` if you ask for `email` or `profile`.',
  },
  refresh_failed: {
    status: 502,
    type: 'api_error',
    message:
      'The provider refused to renew this connection. Connect the account again with `POST /v1/smiths/{sid}/connections/authorize`.',
  },

  // Deployments and hosted pages.
  address_in_use: {
    status: 409,
    type: 'invalid_request_error',
    message: 'Another deployment has this address. Choose another address, or delete that deployment first.',
  },
  catch_all_exists: {
    status: 409,
    type: 'invalid_request_error',
    message: 'There is already a catch-all deployment. Give this one an address of its own, or delete the other first.',
  },
  handle_unavailable: {
    status: 409,
    type: 'invalid_request_error',
    message: 'This handle is taken. Choose another.',
  },
  address_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A deployment of this kind needs an address. Send `address`.',
  },
  invalid_address: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The address is not valid for this kind of channel. Send a full phone number, a mail address or a channel id, as the kind requires.',
  },
  display_name_required: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A deployment of this kind is shown to people under a name. Send `display_name`.',
  },
  rename_unsupported: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'A deployment of this kind cannot be renamed here. Change the name at the provider, or create a new deployment.',
  },
  target_not_supported: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This kind of channel cannot reach a target of this type. Choose another `target.type` or another `kind`.',
  },
  setup_unsupported: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A deployment of this kind takes no `setup`. Leave it out.',
  },
  invalid_setup: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The `setup` is not valid for this kind of channel. Send the members that this kind documents.',
  },
  agent_target_no_setup: {
    status: 422,
    type: 'invalid_request_error',
    message: '`setup` binds one smith, and this deployment targets an agent. Leave `setup` out, or target a smith.',
  },
  mcp_no_setup: {
    status: 422,
    type: 'invalid_request_error',
    message: 'An MCP deployment has nothing to set up. Leave `setup` out.',
  },
  web_no_setup: {
    status: 422,
    type: 'invalid_request_error',
    message: 'A hosted page has nothing to set up. Leave `setup` out.',
  },
  password_required: {
    status: 401,
    type: 'authentication_error',
    message:
      "This page is protected, and the request carries no password or a wrong one. Send the page's password in `password`.",
  },

  // Channels: inbound calls of the providers. 401 where the sender is not proven. The text does not say how the check
  // failed.
  missing_signature: {
    status: 401,
    type: 'authentication_error',
    message: "The call carries no signature. Sign it as the channel's provider does.",
  },
  bad_signature: {
    status: 401,
    type: 'authentication_error',
    message:
      "The signature does not match the body or is too old. Check the signing secret or public key in the channel's setup.",
  },
  bad_inbound_secret: {
    status: 401,
    type: 'authentication_error',
    message: "The shared secret of this call is wrong. Set the same secret at the sender and in the channel's setup.",
  },
  bad_webhook_secret: {
    status: 401,
    type: 'authentication_error',
    message:
      "The webhook secret of this call is wrong. Save the channel's setup again to register the webhook with a new secret.",
  },
  verification_failed: {
    status: 403,
    type: 'permission_error',
    message: "The verification token does not match. Enter the same token at the provider and in the channel's setup.",
  },

  // Channels: setup. A setup that the request depends on and that is missing is 422 throughout (*_unconfigured,
  // model_key_missing, no_saved_card): the request cannot succeed until someone completes it, and clients repeat a
  // 409 or 503 by themselves.
  empty_config: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The setup is empty. Send the members that this channel needs.',
  },
  empty_bot_token: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The bot token is empty. Send the token that the provider issued for the bot.',
  },
  empty_application_id: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The application id is empty. Copy it from the general information of the Discord application.',
  },
  bad_public_key: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The public key is not a valid Ed25519 key. Copy its 64 hexadecimal digits from the general information of the Discord application.',
  },
  telegram_bot_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message: 'There is no Telegram bot for this project. Save its token with `PUT /v1/tenant/telegram` first.',
  },
  telegram_api_error: {
    status: 502,
    type: 'api_error',
    message: 'Telegram refused or failed the request. Check the bot token, then try again.',
  },
  slack_app_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message: 'There is no Slack app for this project. Save it with `PUT /v1/tenant/slack` first.',
  },
  slack_factory_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'This project cannot create Slack apps yet. Save an app configuration token with `PUT /v1/tenant/slack` first.',
  },
  slack_oauth_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The Slack app has no OAuth client for installing it. Save its client id and secret with `PUT /v1/tenant/slack` first.',
  },
  slack_app_cap_reached: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'No further Slack app can be created for this project. Delete a deployment that has one, or use a shared app.',
  },
  invalid_manifest_template: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The template of the Slack app manifest is not valid. Correct it until Slack accepts it as a manifest.',
  },
  slack_api_error: {
    status: 502,
    type: 'api_error',
    message: "Slack refused or failed the request. Check the app's tokens and scopes, then try again.",
  },
  whatsapp_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message: 'WhatsApp is not set up for this project. Save the business account with `PUT /v1/tenant/whatsapp` first.',
  },
  whatsapp_validation_failed: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'WhatsApp does not accept these credentials. Check the access token, its permissions and the ids of the account and the phone number.',
  },
  whatsapp_subscribe_failed: {
    status: 502,
    type: 'api_error',
    message:
      "WhatsApp did not subscribe the app to the account's messages. Check the app's permissions, then save the setup again.",
  },
  whatsapp_api_error: {
    status: 502,
    type: 'api_error',
    message: 'WhatsApp refused or failed the request. Check the access token and the phone number, then try again.',
  },
  email_unconfigured: {
    status: 422,
    type: 'invalid_request_error',
    message: 'Email is not set up for this project. Save the mail service with `PUT /v1/tenant/email` first.',
  },
  email_send_failed: {
    status: 502,
    type: 'api_error',
    message: 'The mail service did not take the message. Check the address and the mail setup, then try again.',
  },

  // Files, vector stores and schedules.
  file_already_attached: {
    status: 409,
    type: 'invalid_request_error',
    message:
      'This file is already in the vector store. Change its attributes with `POST /v1/vector_stores/{vsId}/files/{fid}`, or remove it first to index it anew.',
  },
  invalid_cron: {
    status: 422,
    type: 'invalid_request_error',
    message:
      'The cron expression is not valid or never fires. Send five fields: minute, hour, day of month, month, day of week.',
  },
  invalid_timezone: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The time zone is not known. Send an IANA name such as `Europe/Berlin`, or `UTC`.',
  },
} as const satisfies ErrorCatalogue;

export type PlatformErrorCode = keyof typeof platformErrors;
