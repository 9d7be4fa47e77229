import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTypesOf, selectsEventType } from './event-types.ts';

test('a selector means the type that it spells', () => {
  assert.deepEqual(eventTypesOf('unbound_message'), ['unbound_message']);
  assert.deepEqual(eventTypesOf('vector_store.file.failed'), ['vector_store.file.failed']);
});

test('a selector means its family, with or without the last dot', () => {
  const slack = ['slack.app_provisioned', 'slack.install', 'slack.uninstalled'];
  assert.deepEqual(eventTypesOf('slack'), slack);
  assert.deepEqual(eventTypesOf('slack.'), slack);
});

test('a family holds the families below it', () => {
  const store = ['vector_store.created', 'vector_store.deleted'];
  const files = ['vector_store.file.completed', 'vector_store.file.failed'];
  assert.deepEqual(eventTypesOf('vector_store'), [...store, ...files]);
  assert.deepEqual(eventTypesOf('vector_store.file'), files);
});

test('a selector means no type that merely begins with the same letters', () => {
  assert.equal(selectsEventType('sandbox', 'sandbox_secret.updated'), false);
  assert.equal(selectsEventType('agent.crea', 'agent.created'), false);
  assert.deepEqual(eventTypesOf('no.such'), []);
  assert.deepEqual(eventTypesOf(''), []);
  assert.deepEqual(eventTypesOf('.'), []);
});
