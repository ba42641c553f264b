// Buttons and forms that call the API. What they call stands in their data attributes:
//
//   data-call="POST /api/handoffs/3/retry"   a button; data-confirm asks before, data-body is sent
//   data-open="hand-off" data-id data-label   opens a dialog about something
//   data-send="POST /api/agents/{id}/handoff" a form; its fields are sent as JSON, {id} is the dialog's
//   data-done="Handoff {handoff_id} has begun"  what is said then, with fields of the answer
//   data-then="/ui/handoffs/{handoff_id}"     where to go then

export async function call(what, body) {
  const [method, path] = what.split(' ');
  const answer = await fetch(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: method === 'GET' ? undefined : JSON.stringify(body ?? {}),
  });
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(value.error ?? `The daemon answered ${answer.status}`);
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

function finish(element, answer, from) {
  const values = { ...from, ...answer };
  if (element.dataset.done) toast(fill(element.dataset.done, values));
  if (element.dataset.then) location.assign(fill(element.dataset.then, values));
}

async function press(button) {
  if (button.dataset.confirm && !(await ask(button.dataset.confirm))) return;
  button.disabled = true;
  try {
    finish(button, await call(button.dataset.call, JSON.parse(button.dataset.body ?? '{}')), {});
  } catch (error) {
    toast(error.message, true);
  } finally {
    button.disabled = false;
  }
}

let answered = null; // takes the answer to the question that is being asked

// settle gives the answer, once the dialog is closed. What says that it was comes late: another question may
// be in it by then.
function settle() {
  const dialog = document.getElementById('confirm');
  if (dialog.open) return;
  answered?.(dialog.returnValue === 'yes');
  answered = null;
}

function ask(question) {
  const dialog = document.getElementById('confirm');
  settle();
  dialog.querySelector('[data-slot=label]').textContent = question;
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((done) => {
    answered = done;
  });
}

function open(button) {
  const dialog = document.getElementById(button.dataset.open);
  const form = dialog.querySelector('form');
  if (dialog.dataset.id !== button.dataset.id) form.reset(); // what was typed for another is not for this one
  dialog.dataset.id = button.dataset.id ?? '';
  for (const slot of dialog.querySelectorAll('[data-slot=label]')) slot.textContent = button.dataset.label ?? '';
  dialog.querySelector('.failed').textContent = '';
  dialog.showModal();
  form.querySelector('input:not([type=radio]):not([type=checkbox]), select, textarea')?.focus();
}

// fields are a form's, as JSON: what is empty is left out, and a box that is ticked is true. A form that
// says data-all sends its boxes as they are.
function fields(form) {
  const out = {};
  for (const field of form.elements) {
    if (!field.name) continue;
    if (field.type === 'checkbox') {
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
  for (const button of buttons) button.disabled = true; // so that nothing is sent twice
  try {
    const answer = await call(fill(form.dataset.send, from), fields(form));
    dialog?.close();
    if (dialog) form.reset();
    finish(form, answer, from);
  } catch (error) {
    failed.textContent = error.message;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

export function listen() {
  document.getElementById('confirm').addEventListener('close', settle);
  document.addEventListener('click', (event) => {
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
