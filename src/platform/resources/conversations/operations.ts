import { deletedReply, openAiListOf } from '../../../kernel/http/openai-paging.ts';
import { component } from '../../../kernel/http/schema.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import { project } from '../../access/operation.ts';
import { createConversation } from './create-conversation.ts';
import { createItems } from './create-items.ts';
import { deleteConversation } from './delete-conversation.ts';
import { deleteItem } from './delete-item.ts';
import { getConversation } from './get-conversation.ts';
import { getItem } from './get-item.ts';
import { listConversations } from './list-conversations.ts';
import { listItems } from './list-items.ts';
import {
  Conversation,
  ConversationCreate,
  ConversationItem,
  ConversationItemList,
  ConversationItemPath,
  ConversationItemsCreate,
  ConversationListQuery,
  ConversationPath,
  ConversationUpdate,
  MAX_NEW_ITEMS,
} from './schema.ts';
import { updateConversation } from './update-conversation.ts';

export function conversationOperations(deps: { readonly jobs: Jobs }) {
  return [
    project.change({
      id: 'conversations.create',
      method: 'POST',
      path: '/v1/conversations',
      posture: 'any',
      scope: 'conversations:write',
      summary: 'Create a conversation',
      description:
        'It belongs to one smith: that of the smith token, or the one that `IC-Smith-Id` names, or `user` (with ' +
        '`IC-Agent-Id`, which creates the smith when there is none). Runs with `conversation` set to its id go on in it.',
      body: ConversationCreate,
      example: { user: 'user-1', title: 'Plans' },
      reply: Conversation,
      errors: [
        'smith_required',
        'smith_unresolved',
        'user_required',
        'smith_mismatch',
        'agent_unpublished',
        'invalid_input',
      ],
      handler: createConversation,
    }),
    project.read({
      id: 'conversations.list',
      method: 'GET',
      path: '/v1/conversations',
      posture: 'any',
      scope: 'conversations:read',
      summary: 'List conversations, newest first',
      description: 'A smith token lists those of its smith.',
      query: ConversationListQuery,
      reply: openAiListOf(Conversation),
      errors: ['invalid_cursor', 'invalid_limit'],
      handler: listConversations,
    }),
    project.read({
      id: 'conversations.get',
      method: 'GET',
      path: '/v1/conversations/{cnvId}',
      posture: 'any',
      scope: 'conversations:read',
      summary: 'Get a conversation',
      params: ConversationPath,
      reply: Conversation,
      errors: ['conversation_not_found'],
      handler: getConversation,
    }),
    project.change({
      id: 'conversations.update',
      method: 'POST',
      path: '/v1/conversations/{cnvId}',
      posture: 'any',
      scope: 'conversations:write',
      summary: 'Change the title or the metadata of a conversation',
      description: 'What is given is replaced as a whole; null clears it.',
      idempotent: false,
      params: ConversationPath,
      body: ConversationUpdate,
      example: { title: 'Plans for spring' },
      reply: Conversation,
      errors: ['conversation_not_found', 'nothing_to_update'],
      handler: updateConversation,
    }),
    project.change({
      id: 'conversations.delete',
      method: 'DELETE',
      path: '/v1/conversations/{cnvId}',
      posture: 'any',
      scope: 'conversations:write',
      summary: 'Delete a conversation',
      description: 'What was said in it is removed. Its runs stay.',
      params: ConversationPath,
      reply: ConversationDeleted,
      errors: ['conversation_not_found'],
      handler: (request) => deleteConversation(deps.jobs, request),
    }),
    project.read({
      id: 'conversations.items.list',
      method: 'GET',
      path: '/v1/conversations/{cnvId}/items',
      posture: 'any',
      scope: 'conversations:read',
      summary: 'List what was said in a conversation, newest first',
      params: ConversationPath,
      query: ConversationListQuery,
      reply: ConversationItemList,
      errors: ['conversation_not_found', 'invalid_cursor', 'invalid_limit'],
      handler: listItems,
    }),
    project.change({
      id: 'conversations.items.create',
      method: 'POST',
      path: '/v1/conversations/{cnvId}/items',
      posture: 'any',
      scope: 'conversations:write',
      summary: 'Add items to a conversation',
      description:
        `1 to ${MAX_NEW_ITEMS} items, behind all others. No model runs; the next turn sees them, also when one is in ` +
        'progress now. A `function_call_output` answers a call that the conversation holds; one that a run waits for ' +
        'is answered through the Responses surface.',
      params: ConversationPath,
      body: ConversationItemsCreate,
      example: { items: [{ role: 'user', content: 'The river rises in March.' }] },
      reply: ConversationItemList,
      errors: ['conversation_not_found', 'invalid_input', 'invalid_state'],
      handler: createItems,
    }),
    project.read({
      id: 'conversations.items.get',
      method: 'GET',
      path: '/v1/conversations/{cnvId}/items/{itemId}',
      posture: 'any',
      scope: 'conversations:read',
      summary: 'Get an item of a conversation',
      params: ConversationItemPath,
      reply: ConversationItem,
      errors: ['conversation_not_found'],
      handler: getItem,
    }),
    project.change({
      id: 'conversations.items.delete',
      method: 'DELETE',
      path: '/v1/conversations/{cnvId}/items/{itemId}',
      posture: 'any',
      scope: 'conversations:write',
      summary: 'Delete an item of a conversation',
      description:
        'Later turns do not see it. Exactly this item goes: the output of a deleted call stays listed until it is ' +
        'deleted itself, and is shown to no model without its call.',
      params: ConversationItemPath,
      reply: Conversation,
      errors: ['conversation_not_found'],
      handler: deleteItem,
    }),
  ];
}

const ConversationDeleted = component('ConversationDeleted', deletedReply('conversation.deleted'));
