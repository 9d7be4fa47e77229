import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSms } from './read-sms.ts';

const FORM = {
  MessageSid: 'SM00000000000000000000000000000001',
  AccountSid: 'AC00000000000000000000000000000001',
  From: '+4915112345678',
  To: '+15550000001',
  Body: 'Hello',
  NumMedia: '0',
};

test('a message is its sender’s, known by its id', () => {
  assert.deepEqual(readSms(FORM), {
    idempotencyKey: FORM.MessageSid,
    type: 'message',
    sender: FORM.From,
    chat: FORM.From,
    subject: FORM.From,
    text: 'Hello',
    attachments: [],
    data: FORM,
  });
});

test('what Twilio answers itself is noted, and begins no turn', () => {
  for (const Body of [
    'STOP',
    ' stop\n',
    'StopAll',
    'UNSUBSCRIBE',
    'cancel',
    'END',
    'quit',
    'Revoke',
    'optout',
    'START',
    'unstop',
    'Help',
    'INFO',
  ]) {
    const { type, fate } = readSms({ ...FORM, Body }) ?? {};
    assert.deepEqual([type, fate], ['keyword', 'noted'], Body);
  }
  assert.equal(readSms({ ...FORM, Body: 'Arrêt', OptOutType: 'STOP' })?.fate, 'noted');
  for (const Body of ['Yes', 'Stop the music', 'Please help', '/stop'])
    assert.equal(readSms({ ...FORM, Body })?.fate, undefined);
});

test('who has no number of their own is not answered, nor is the number itself', () => {
  for (const From of ['32665', 'TWILIO', '', FORM.To, ['+4915112345678', '+4915112345679']]) {
    assert.equal(readSms({ ...FORM, From }), undefined, String(From));
  }
  assert.equal(readSms({ ...FORM, MessageSid: '' }), undefined);
  assert.equal(readSms({ ...FORM, Body: ' ' }), undefined);
});

test('media are attachments, and their addresses are not shown', () => {
  const media = {
    NumMedia: '3',
    MediaUrl0: 'https://api.twilio.com/media/1',
    MediaContentType0: 'image/png',
    MediaUrl1: 'https://api.twilio.com/media/2',
    MediaContentType1: 'made up',
  };
  const message = readSms({ ...FORM, Body: '', ...media });
  assert.deepEqual(message?.attachments, [
    { ref: media.MediaUrl0, filename: 'attachment-1.png', mediaType: 'image/png', bytes: undefined },
    { ref: media.MediaUrl1, filename: 'attachment-2', mediaType: 'made up', bytes: undefined },
  ]);
  assert.doesNotMatch(JSON.stringify(message?.data), /api\.twilio\.com/);
  assert.equal(readSms({ ...FORM, NumMedia: '1e9' })?.attachments.length, 0);
});
