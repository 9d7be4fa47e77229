/** The chapters of the reference at /docs, by task: first what a new project's token calls first. */
import type { Topic } from '../kernel/http/reference-topics.ts';

export const referenceTopics: readonly Topic[] = [
  { name: 'Smiths', description: 'One agent instance for each end user. Start here.', prefixes: ['smiths'] },
  {
    name: 'Runs',
    description: 'Turns of a smith: streamed or not, paused for tools and approvals, read again from any point.',
    prefixes: ['smiths.runs', 'runs'],
  },
  {
    name: 'Responses',
    description: 'OpenAI’s Responses, on the same smiths and runs.',
    prefixes: ['responses'],
  },
  {
    name: 'Chat completions',
    description: 'OpenAI’s chat completions, on the same smiths and runs.',
    prefixes: ['chat'],
  },
  { name: 'Conversations', description: 'Threads that go on, in OpenAI’s form.', prefixes: ['conversations'] },
  { name: 'Memory', description: 'What a smith keeps between conversations.', prefixes: ['smiths.memory'] },
  {
    name: 'Schedules',
    description: 'Turns of a smith at the times of a cron expression.',
    prefixes: ['smiths.schedules'],
  },
  {
    name: 'Deployments',
    description: 'Where people reach a smith or an agent: pages that this server hosts, and messaging channels.',
    prefixes: ['deployments', 'hosted', 'inbound_events'],
  },
  {
    name: 'Channels',
    description: 'Accounts at providers, through which people write to deployments: bots and numbers.',
    prefixes: [
      'tenant.telegram',
      'telegram',
      'tenant.whatsapp',
      'whatsapp',
      'tenant.discord',
      'discord',
      'tenant.slack',
      'slack',
      'sms',
      'tenant.email',
      'email',
      'voice',
    ],
  },
  { name: 'Approvals', description: 'Calls of tools that wait for a person.', prefixes: ['approvals'] },
  {
    name: 'Agents',
    description: 'Configurations that many smiths share: drafts, versions, gradual rollout.',
    prefixes: ['agents'],
  },
  { name: 'Customers', description: 'Who the end users belong to.', prefixes: ['customers'] },
  { name: 'Files', description: 'Content for runs and vector stores.', prefixes: ['files', 'tenant.storage'] },
  { name: 'Vector stores', description: 'Files that are searched by meaning and words.', prefixes: ['vector_stores'] },
  {
    name: 'Skills',
    description: 'Instructions and files for a task, in versions that never change.',
    prefixes: ['skills'],
  },
  {
    name: 'MCP servers',
    description: 'Tools of other servers, by the Model Context Protocol, and a catalog of public ones.',
    prefixes: ['tenant.mcp', 'catalog'],
  },
  { name: 'Embeddings', description: 'Text into vectors.', prefixes: ['embeddings'] },
  { name: 'Models', description: 'What can be named as `model`.', prefixes: ['models', 'tenant.models'] },
  {
    name: 'Model keys',
    description: 'Keys of model providers, of the project and of single smiths.',
    prefixes: ['tenant.model_keys', 'smiths.model_keys'],
  },
  {
    name: 'Hosted tools',
    description: 'Tools that the server itself runs, and the secrets of its sandbox.',
    prefixes: ['tenant.hosted_tools', 'tenant.sandbox_secrets'],
  },
  {
    name: 'Connections',
    description: 'Accounts that users connect to smiths, and the OAuth clients by which they do.',
    prefixes: ['smiths.connections', 'tenant.providers', 'oauth.callback', 'oauth.client_metadata'],
  },
  { name: 'Events', description: 'Everything that happened, in order.', prefixes: ['events'] },
  {
    name: 'Webhooks',
    description: 'The feed, sent to your own endpoints as signed POSTs.',
    prefixes: ['tenant.webhooks'],
  },
  {
    name: 'Traces',
    description: 'What happened inside a turn, span by span; and spans of your own.',
    prefixes: ['traces', 'runs.trace'],
  },
  {
    name: 'Usage',
    description: 'What was used and what it cost, by day, model, smith, agent, customer, app and meter.',
    prefixes: ['usage', 'tenant.usage'],
  },
  { name: 'Budgets', description: 'What usage may cost: warnings, and limits that hold.', prefixes: ['budgets'] },
  {
    name: 'Tokens',
    description: 'Tokens of the project: for servers, or bound to one smith.',
    prefixes: ['tenant.tokens'],
  },
  {
    name: 'Organization',
    description: 'Projects and their first tokens. Called with the organization’s key.',
    prefixes: ['organization'],
  },
  {
    name: 'OAuth',
    description: 'How programs get tokens that a person lets them have, and the keys that tokens are verified with.',
    prefixes: ['oauth'],
  },
];
