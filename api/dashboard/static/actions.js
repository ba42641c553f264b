import { ask as request } from './session.js';

// Buttons and forms call the API. Their data attributes name the call:
//
//   data-call="POST /api/handoffs/3/retry"     the call of a button; data-confirm is a question to ask before it,
//                                              data-body the body
//   data-open="hand-off" data-id data-label    the button opens this dialog; data-body is sent with the dialog's form
//   data-send="POST /api/agents/{id}/handoff"  the call of a form: its fields are sent as JSON, {id} is the dialog's
//   data-done="Handoff {handoff_id} has started"  the toast after the call, with fields of the answer
//   data-then="/ui/handoffs/{handoff_id}"      the page to open after the call

export async function call(what, body) {
  const [method, path] = what.split(' ');
  const answer = await request(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: method === 'GET' ? '' : JSON.stringify(body ?? {}),
  });
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(value.error ?? `The daemon answered ${answer.status}`), { code: value.code ?? 'unknown' });
  return value;
}

const fill = (text, from) => text.replaceAll(/\{(\w+)\}/g, (_, name) => from[name] ?? '');

export function toast(text, bad = false) {
  const p = document.createElement('p');
  p.textContent = text;
  if (bad) p.className = 'bad';
  document.getElementById('toasts').append(p);
  setTimeout(() => p.remove(), bad ? 12_000 : 5000);
}

// unhelpful are the states of an answer to an agent's dialog that has not ended the dialog.
const unhelpful = ['stays', 'not_pressed', 'unknown'];

// finish tells the answer. An answer about several agents is a list, in which each that was refused says why.
function finish({ done, then }, answer, from) {
  const values = { ...from, ...answer };
  if (Array.isArray(answer)) {
    values.count = answer.filter((one) => !one.error).length;
    for (const one of answer) if (one.error) toast(`${one.name} (agent ${one.agent_id}): ${one.error.message}`, true);
  }
  const bad = 'channel' in values && values.error != null || unhelpful.includes(values.state); // a test that did not arrive is an answer, too
  if (done) toast(fill(done, values), bad);
  if (then) location.assign(fill(then, values));
}

// busy disables an element while its call is under way, or enables it again. morph.js leaves a busy element disabled.
function busy(element, is) {
  element.disabled = is;
  element.toggleAttribute('data-busy', is);
}

async function press(button) {
  const says = { ...button.dataset }; // copy it: the page may change the button before the answer comes
  if (says.confirm && !(await ask(says.confirm, button.classList.contains('danger')))) return;
  busy(button, true);
  try {
    finish(says, await call(says.call, JSON.parse(says.body ?? '{}')), {});
  } catch (error) {
    toast(error.message, true);
  } finally {
    busy(button, false);
  }
}

// save downloads the answer of an address of the API, or shows it as text in a new tab.
async function save(link) {
  try {
    const answer = await request(link.href);
    const body = await answer.blob();
    if (!answer.ok) throw new Error(JSON.parse(await body.text()).error);
    const at = document.createElement('a');
    at.href = URL.createObjectURL(new Blob([body], { type: 'text/plain;charset=utf-8' }));
    if (link.hasAttribute('download')) at.download = link.download || named(answer) || 'understudy.txt';
    else at.target = '_blank';
    at.click();
    setTimeout(() => URL.revokeObjectURL(at.href), 60_000);
  } catch (error) {
    toast(error.message, true);
  }
}

const named = (answer) => /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')?.[1];

let answered = null; // the function that resolves the promise of the question that the dialog shows

// settle resolves that promise when the dialog is closed. The close event comes late, so the dialog may already show
// another question: then settle does nothing.
function settle() {
  const dialog = document.getElementById('confirm');
  if (dialog.open) return;
  answered?.(dialog.returnValue === 'yes');
  answered = null;
}

function ask(question, danger) {
  const dialog = document.getElementById('confirm');
  settle();
  dialog.querySelector('[data-slot=label]').textContent = question;
  dialog.returnValue = 'no';
  dialog.showModal();
  if (danger) dialog.querySelector('[value=no]').focus();
  return new Promise((done) => {
    answered = done;
  });
}

function open(button) {
  const dialog = document.getElementById(button.dataset.open);
  const form = dialog.querySelector('form');
  const body = button.dataset.body ?? '{}'; // kept in the dialog: the page may change the button before the form is sent
  if (dialog.dataset.id !== button.dataset.id || dialog.dataset.body !== body) form.reset(); // the text in it was typed for another agent or step
  dialog.dataset.id = button.dataset.id ?? '';
  dialog.dataset.body = body;
  for (const slot of dialog.querySelectorAll('[data-slot=label]')) slot.textContent = button.dataset.label ?? '';
  dialog.querySelector('.failed').textContent = '';
  dialog.showModal();
  form.querySelector('input:not([type=radio]):not([type=checkbox]), select, textarea')?.focus();
}

// fields returns the fields of a form as an object. It leaves out empty fields and unticked boxes; a form with
// data-all sends unticked boxes as false. A field with data-list="persona" becomes the list [{persona: …}, …] of what is chosen,
// and one with data-lines the list of its lines. A ticked box with data-object becomes {}; a field named box.part is put into it,
// and what is typed there counts as a tick.
function fields(form) {
  const out = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.dataset.list) {
      const chosen = [...field.selectedOptions].map((option) => ({ [field.dataset.list]: option.value }));
      if (chosen.length > 0) out[field.name] = chosen;
    } else if (field.dataset.object !== undefined) {
      if (field.checked) out[field.name] = {};
    } else if (field.name.includes('.')) {
      const [box, part] = field.name.split('.');
      if (field.value !== '') (out[box] ??= {})[part] = field.value;
    } else if (field.dataset.lines !== undefined) {
      const lines = field.value.split('\n').filter((line) => line !== '');
      if (lines.length > 0) out[field.name] = lines;
    } else if (field.type === 'checkbox') {
      if (field.checked || form.dataset.all !== undefined) out[field.name] = field.checked;
    } else if ((field.type !== 'radio' || field.checked) && field.value !== '') {
      out[field.name] = field.value;
    }
  }
  return out;
}

async function send(form) {
  const dialog = form.closest('dialog');
  const failed = form.querySelector('.failed');
  const buttons = form.querySelectorAll('button');
  const from = { id: dialog?.dataset.id };
  failed.textContent = '';
  for (const button of buttons) busy(button, true); // so that the form is not sent twice
  try {
    const answer = await call(fill(form.dataset.send, from), { ...JSON.parse(dialog?.dataset.body ?? '{}'), ...fields(form) });
    dialog?.close();
    if (dialog) form.reset();
    finish(form.dataset, answer, from);
  } catch (error) {
    failed.textContent = error.message;
  } finally {
    for (const button of buttons) busy(button, false);
  }
}

export function listen() {
  document.getElementById('confirm').addEventListener('close', settle);
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-save]');
    if (link) {
      event.preventDefault();
      save(link);
      return;
    }
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.call) press(button);
    else if (button.dataset.open) open(button);
    else if ('close' in button.dataset) button.closest('dialog').close();
  });
  document.addEventListener('submit', (event) => {
    if (!event.target.dataset.send) return;
    event.preventDefault();
    send(event.target);
  });
}
