use jobshape::core::judge::judge_one;
use jobshape::core::tree::Node;
use super::objects::corpus;

#[test]
fn every_object_is_admitted_by_its_own_shape() {
    let Some(corpus) = corpus() else { return };
    println!("{} files, {} objects", corpus.files, corpus.objects.len());
    for u in &corpus.unread { println!("UNREAD {u}"); }
    let mut wrong = 0;
    for object in &corpus.objects {
        match object.shape(object.namespace()) {
            Err(m) => { wrong+=1; for m in m { println!("LOAD {} {m}", object.place()) } }
            Ok(shape) => {
                let j = judge_one(&shape, shape.first(), &Node::from_json(&object.value), object.namespace());
                if j.count > 0 { wrong+=1; println!("JUDGE {} {:?}", object.place(), j.findings.iter().map(|f| (&f.path,&f.message)).collect::<Vec<_>>()); }
            }
        }
    }
    assert_eq!(wrong, 0);
}
